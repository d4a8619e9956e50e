//! `gtc check`: shows what the checks of the library found.

use gtc::Config;
use gtc::check::{CheckOptions, Finding, Level, check, worst};

use crate::args::CheckArgs;
use crate::failure::{Exit, Failure};
use crate::output::{self, Table};

/// Runs `gtc check`.
pub(crate) async fn run(config: &Config, args: &CheckArgs) -> Result<Exit, Failure> {
    let mut options = CheckOptions::new().participants(args.participant.iter().cloned());
    options.group = args.group.clone();
    let findings = check(config, options).await.map_err(Failure::config)?;
    show(&findings, args.report.json);
    Ok(match worst(&findings) {
        Level::Fail => Exit::Error,
        Level::Warn if args.strict => Exit::Error,
        Level::Warn | Level::Ok => Exit::Done,
    })
}

fn show(findings: &[Finding], json: bool) {
    if json {
        return output::json(&findings);
    }
    let mut table = Table::new(&["PARTICIPANT", "CHECK", "RESULT", "DETAIL"]);
    for finding in findings {
        table.row([
            finding.participant.clone(),
            finding.check.to_owned(),
            finding.level.as_str().to_owned(),
            finding.detail.clone(),
        ]);
    }
    output::line(&table.render());
    for finding in findings {
        if let Some(remedy) = &finding.remedy {
            let (level, check) = (finding.level.as_str(), finding.check);
            output::line(&format!(
                "\n{level}: {} {check}: {remedy}",
                finding.participant
            ));
        }
    }
}
