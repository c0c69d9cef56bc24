//! The trace file: there when it is asked for, and no hindrance where it cannot be written.

use crate::program::Machine;

#[test]
fn a_trace_file_is_written_only_where_one_is_named() {
    let machine = Machine::new(&[]);
    let plain = machine.run("config show");
    let path = machine.home().join("trace.log");
    let traced = Machine::new(&[]).with_variable("DORMOUSE_LOG", path.display().to_string());
    let run = traced.run("config show");
    assert_eq!((run.code, run.stdout), (plain.code, plain.stdout));
    assert_eq!(machine.read("trace.log"), "", "no request was made");
}

#[test]
fn a_trace_file_that_cannot_be_written_is_said_and_does_not_stop_the_command() {
    let machine = Machine::new(&[]).with_variable("DORMOUSE_LOG", "/nowhere/at/all/trace.log");
    let run = machine.run("config show");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stderr.contains("DORMOUSE_LOG") && run.stderr.contains("cannot be written"),
        "{run:?}"
    );
}
