//! `/proc/PID/cmdline`: the arguments of a process, and its name.

/// Returns the arguments; none for a kernel thread or a zombie.
#[must_use]
pub fn parse(bytes: &[u8]) -> Vec<String> {
    let bytes = bytes.strip_suffix(b"\0").unwrap_or(bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
}

/// Length in bytes to which the kernel truncates command names.
const LONGEST_COMMAND_NAME: usize = 15;

/// Returns the command name that the kernel shows for a program: the truncated name of the program.
#[must_use]
pub fn command_name(program: &str) -> &str {
    let end = (0..=LONGEST_COMMAND_NAME).rev().find(|end| program.is_char_boundary(*end));
    program.get(..end.unwrap_or(0)).unwrap_or(program)
}

/// Returns the name of a process: the kernel's, which is cut at 15 bytes, or the whole name if the
/// first argument shows it.
#[must_use]
pub fn program(comm: &str, bytes: &[u8]) -> String {
    let first = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let base = first.rsplit('/').next().unwrap_or_default();
    if comm.len() >= LONGEST_COMMAND_NAME && base.starts_with(comm) {
        base.to_owned()
    } else {
        comm.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_split_at_nul() {
        assert_eq!(parse(b"python\0train.py\0--name\0\0"), ["python", "train.py", "--name", ""]);
        assert_eq!(parse(b"python\0"), ["python"]);
        assert_eq!(parse(b""), Vec::<String>::new());
    }

    #[test]
    fn a_name_cut_by_the_kernel_is_made_whole() {
        assert_eq!(
            program("text-generation", b"/opt/text-generation-server\0"),
            "text-generation-server"
        );
        assert_eq!(program("python", b"/usr/bin/python3.11\0x.py\0"), "python");
        assert_eq!(program("renamed-by-self", b"/usr/bin/python\0"), "renamed-by-self");
        assert_eq!(program("kworker", b""), "kworker");
        assert_eq!(program("VLLM::EngineCor", b"VLLM::EngineCore\0"), "VLLM::EngineCore");
    }

    #[test]
    fn command_name_has_at_most_15_bytes() {
        assert_eq!(command_name("VLLM::EngineCore"), "VLLM::EngineCor");
        assert_eq!(command_name("python3"), "python3");
        assert_eq!(command_name("一二三四五六"), "一二三四五");
        assert_eq!(command_name(""), "");
    }
}
