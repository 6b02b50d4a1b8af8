
use std::collections::HashMap;
use super::*;
#[test]
fn drive() {
    // DRIVE: lines separated by 0x1e: cwd, stdin file, out file, err file, name, args...
    let Ok(spec) = std::env::var("DRIVE") else { return };
    let mut parts = spec.split('\u{1e}').map(str::to_owned);
    let cwd = parts.next().unwrap(); let stdin = parts.next().unwrap(); let out = parts.next().unwrap(); let err = parts.next().unwrap();
    let name = parts.next().unwrap();
    let args: Vec<String> = parts.collect();
    let stdin = if stdin.is_empty() { vec![] } else { std::fs::read(stdin).unwrap() };
    let files = crate::files::Files::new();
    let command = TABLES.iter().copied().flatten().find(|c| c.name == name).unwrap();
    let env: HashMap<String,String> = std::env::vars().filter(|(k,_)| k.starts_with("LC_")||k=="TZ"||k.ends_with("VERSION_CONTROL")).collect();
    let cwd = std::path::PathBuf::from(cwd);
    let mut call = Call::new(command.name, (&args, &env, &cwd), &files, &stdin);
    let Run::Here(run) = command.run else { panic!() };
    let code = match command.spec.read(&args).and_then(|line| run(&mut call, &line)) { Ok(c) => c, Err(Failure{code, text}) => { call.complain(text); code } };
    std::fs::write(out, &call.out).unwrap(); std::fs::write(err, &call.err).unwrap();
    std::process::exit(code);
}
