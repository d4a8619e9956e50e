//! The Python package: a source distribution, and a wheel that is built from that.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::trial::Trial;
use super::{PROFILE, Packed, VERSION, about, copy, home, target, with_features};
use crate::command::{self, Failure, Step, root};

/// Both in environments of their own, with nothing but what the package asks for.
pub(super) fn build(features: &str) -> Result<Packed, Failure> {
    let tools = home().join("tools/python");
    environment(&tools)?;
    let maturin = ["install", "--quiet", "-r", "tests/requirements-build.txt"];
    let mut install = program(&tools, "pip");
    install.args(maturin).current_dir(root().join("python"));
    Step::new("tools for Python", install).run()?;
    let mut sdist = program(&tools, "maturin");
    sdist.args(["sdist", "--out"]).arg(home());
    sdist.current_dir(root().join("python"));
    Step::new("source distribution", sdist).run()?;
    let sdist = home().join(format!("gtc-{VERSION}.tar.gz"));
    let arguments = with_features(&format!("--profile {PROFILE}"), features);
    let mut wheel = program(&tools, "pip");
    wheel
        .args(["wheel", "--quiet", "--no-deps", "--wheel-dir"])
        .arg(home())
        .arg(format!("--config-settings=build-args={arguments}"))
        .arg(&sdist)
        // It lies elsewhere while it is built; what it depends on need not be built once more.
        .env("CARGO_TARGET_DIR", target());
    Step::new("wheel", wheel).run()?;
    Ok(Packed {
        native: wheel_in(&home())?,
        others: vec![sdist],
    })
}

fn wheel_in(directory: &Path) -> Result<PathBuf, Failure> {
    let start = format!("gtc-{VERSION}-cp39-abi3-");
    let entries = std::fs::read_dir(directory).map_err(|cause| about(directory, &cause))?;
    let wheel = entries.flatten().map(|entry| entry.path()).find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&start) && name.ends_with(".whl")
    });
    wheel.ok_or_else(|| Failure::new(format!("pip has made no {start}*.whl")))
}

pub(super) fn try_out(trial: &Trial, packed: &Packed) -> Result<Vec<PathBuf>, Failure> {
    let project = trial.project("python")?;
    let environment_of = project.join("venv");
    environment(&environment_of)?;
    let mut install = program(&environment_of, "pip");
    install.args(["install", "--quiet", "--no-index"]);
    install.arg(&packed.native);
    Step::new("installation", install).run()?;
    copy(
        &root().join("python/samples/basic.py"),
        &project.join("basic.py"),
    )?;
    let mut basic = program(&environment_of, "python");
    basic.arg("basic.py");
    trial.basic((&project, "basic-python"), basic)?;
    let mut find = program(&environment_of, "python");
    find.args([
        "-c",
        "import gtc._native; print(gtc._native.__file__, end='')",
    ]);
    let output = find.current_dir(&project).output();
    let output = output.map_err(|cause| about(&environment_of, &cause))?;
    Ok(vec![
        String::from_utf8_lossy(&output.stdout).as_ref().into(),
    ])
}

fn environment(home: &Path) -> Result<(), Failure> {
    if home.join("bin/pip").exists() {
        return Ok(());
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(home);
    Step::new("virtual environment", make).run()
}

fn program(environment: &Path, name: &str) -> Command {
    let mut command = command::program(environment.join("bin").join(name));
    command
        .env_remove("PYTHONPATH")
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
    command
}
