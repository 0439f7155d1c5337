//! Sizes, offsets and constants, against what a C compiler makes of NVIDIA's header.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::stage::text;

#[test]
fn structures_are_laid_out_as_in_nvidias_header() {
    let Some(headers) = std::env::var_os("NVML_HEADER_DIR") else {
        return nvidia_ml::skip::skipped("abi", "NVML_HEADER_DIR is not set");
    };
    let header = text(&fs::read(Path::new(&headers).join("nvml.h")).unwrap());
    let output = Command::new(env!("CARGO_BIN_EXE_nvml-sim")).arg("abi").output().unwrap();
    let ours = text(&output.stdout);
    // A structure that a header does not have yet cannot be compared with it.
    let known: Vec<&str> = ours.lines().filter(|line| is_known(&header, line)).collect();
    assert!(known.len() > 150, "{} lines of {}", known.len(), ours.lines().count());
    assert_eq!(known.join("\n"), compiled(&known, Path::new(&headers)).trim_end());
}

fn is_known(header: &str, line: &str) -> bool {
    let name = line.split(['.', ' ']).next().unwrap();
    header.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// The same lines, as the compiler has them.
fn compiled(lines: &[&str], headers: &Path) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("abi.c"), dir.path().join("abi"));
    fs::write(&source, c_program(lines)).unwrap();
    let mut cc = Command::new("cc");
    cc.arg("-I").arg(headers).arg("-o").arg(&program).arg(&source);
    let output = cc.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&Command::new(&program).output().unwrap().stdout)
}

fn c_program(lines: &[&str]) -> String {
    let mut source = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <nvml.h>\nint main(void) {\n",
    );
    for line in lines {
        let name = line.split(' ').next().unwrap();
        let value = match name.split_once('.') {
            Some((structure, field)) => format!("offsetof({structure}, {field})"),
            None if name.starts_with("nvml") => format!("sizeof({name})"),
            None => format!("(unsigned)({name})"),
        };
        writeln!(source, "printf(\"{name} %lu\\n\", (unsigned long)({value}));").unwrap();
    }
    source + "return 0;\n}\n"
}
