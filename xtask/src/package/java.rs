//! The Java package: a jar with the classes, and one with the native library by its classifier.

use std::path::PathBuf;
use std::process::Command;

use super::trial::Trial;
use super::{PLATFORM, PROFILE, Packed, VERSION, copy, home, target, with_features};
use crate::command::{Failure, Step, maven, root};

pub(super) fn build(features: &str) -> Result<Packed, Failure> {
    let arguments = with_features(&format!("--profile {PROFILE}"), features);
    let mut package = maven();
    package
        .args(["--no-transfer-progress", "-q", "package", "-DskipTests"])
        .arg(format!("-Dcargo.arguments={arguments}"))
        .arg(format!("-Dcargo.output={PROFILE}"))
        .arg(format!("-Dcargo.target={}", target().display()))
        .current_dir(root().join("java"));
    Step::new("jars", package).run()?;
    let (classes, native) = names();
    for name in [&classes, &native] {
        copy(&root().join("java/target").join(name), &home().join(name))?;
    }
    Ok(Packed {
        native: home().join(native),
        others: vec![home().join(classes)],
    })
}

fn names() -> (String, String) {
    let (system, machine) = PLATFORM;
    (
        format!("gtc-{VERSION}.jar"),
        format!("gtc-{VERSION}-{system}-{machine}.jar"),
    )
}

/// Two jars on the class path are all that an application needs.
pub(super) fn try_out(trial: &Trial, packed: &Packed) -> Result<Vec<PathBuf>, Failure> {
    let project = trial.project("java")?;
    let (classes, native) = names();
    copy(&packed.others[0], &project.join(&classes))?;
    copy(&packed.native, &project.join(&native))?;
    copy(
        &root().join("java/samples/Basic.java"),
        &project.join("Basic.java"),
    )?;
    let mut basic = Command::new("java");
    basic.args(["-cp", &format!("{classes}:{native}"), "Basic.java"]);
    trial.basic((&project, "basic-java"), basic)?;
    let (system, machine) = PLATFORM;
    let library = format!("native/gtc/native/{system}-{machine}/libgtc_jni.so");
    Ok(vec![root().join("java/target").join(library)])
}
