//! Archives of strangers: broken, hostile and too large ones. None makes the tool trap, and none writes outside of
//! the folder that it is unpacked into.

use std::fs;

use toolhost_tests::test_host::TestHost;

use super::{base, command, output};

const BLOCK: usize = 512;

/// A header of POSIX with its sum.
fn header(name: &[u8], kind: u8, size: &[u8], link: &[u8]) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    let fields: [(usize, &[u8]); 8] = [
        (0, name),
        (100, b"0000644\0"),
        (108, b"0001750\0"),
        (116, b"0001750\0"),
        (124, size),
        (136, b"14544676445\0"),
        (157, link),
        (257, b"ustar\x0000"),
    ];
    for (at, bytes) in fields {
        block[at..at + bytes.len()].copy_from_slice(bytes);
    }
    block[156] = kind;
    seal(&mut block);
    block
}

fn seal(block: &mut [u8]) {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn member(name: &[u8], content: &[u8]) -> Vec<u8> {
    let size = format!("{:011o}\0", content.len());
    let mut bytes = header(name, b'0', size.as_bytes(), b"");
    bytes.extend(content);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

fn link(name: &[u8], kind: u8, target: &[u8]) -> Vec<u8> {
    header(name, kind, b"00000000000\0", target)
}

/// Ends an archive of members.
fn archive(members: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = members.concat();
    bytes.extend([0; 2 * BLOCK]);
    bytes
}

/// Calls the tool with a folder `w` that has the archives.
async fn call(test_host: &TestHost, archives: &[(String, Vec<u8>)], script: &str) -> String {
    let folder = test_host.work.path("w");
    fs::create_dir_all(folder.join("in")).unwrap();
    for (name, bytes) in archives {
        fs::write(folder.join("in").join(name), bytes).unwrap();
    }
    let result = test_host.call("bash__exec", command(script)).await;
    output(&result)["stdout"].as_str().unwrap().to_owned()
}

/// What is in the workdir, apart from `w`.
fn outside(test_host: &TestHost) -> Vec<String> {
    let names = fs::read_dir(test_host.work.path("")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "w").collect()
}

#[tokio::test]
async fn a_broken_archive_is_an_error_of_the_command() {
    let test_host = base("").await;
    let whole = archive(&[
        header(b"d/", b'5', b"00000000000\0", b""),
        member(b"d/file", b"content of the file\n"),
        link(b"d/link", b'2', b"file"),
        member(&[b'n'; 100], &[7; 700]),
    ]);
    let mut archives = Vec::new();
    // Every field of the first headers with bytes that it must not have, with a sum that is right and one that is not.
    for at in (0..3 * BLOCK).filter(|at| at % BLOCK < 350).step_by(7) {
        for byte in [0, 0x7F, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[at] = byte;
            if at % 2 == 0 {
                let block = at / BLOCK * BLOCK;
                seal(&mut bytes[block..block + BLOCK]);
            }
            archives.push((format!("byte-{at}-{byte}.tar"), bytes));
        }
    }
    for length in (1..whole.len()).step_by(311) {
        archives.push((format!("cut-{length}.tar"), whole[..length].to_vec()));
    }
    let odd: [(&str, u8, &[u8], &[u8]); 8] = [
        (
            "huge",
            b'0',
            &b"\x80\0\0\0\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF"[..],
            &b""[..],
        ),
        (
            "negative",
            b'0',
            b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFE",
            b"",
        ),
        ("long-name", b'L', b"77777777777\0", b"name"),
        ("records", b'x', b"00000000024\0", b"99999999999999999 a=b"),
        (
            "records-size",
            b'x',
            b"00000000036\0",
            b"30 size=18446744073709551615\n",
        ),
        ("records-global", b'g', b"00000000003\0", b"3 a"),
        ("sparse", b'S', b"00000000000\0", b""),
        ("unknown", b'!', b"00000000000\0", b""),
    ];
    for (name, kind, size, content) in odd {
        let mut bytes = header(b"odd", kind, size, b"");
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
        bytes.extend(&whole);
        archives.push((format!("{name}.tar"), bytes));
    }
    let script = "cd w; mkdir out; n=0
        for f in in/*.tar; do
          for how in tvf xf df; do
            tar $how $f -C out >/dev/null 2>/dev/null </dev/null; c=$?
            [ $c -le 2 ] || echo \"$how $f: $c\"
          done; n=$((n+1))
        done; echo $n";
    let stdout = call(&test_host, &archives, script).await;
    assert_eq!(stdout, format!("{}\n", archives.len()));
    assert_eq!(outside(&test_host), Vec::<String>::new());
}

#[tokio::test]
async fn no_member_leaves_the_folder() {
    let test_host = base("").await;
    let hostile = [
        member(b"../up", b"1\n"),
        member(b"a/../../up2", b"2\n"),
        member(b"/root", b"3\n"),
        link(b"out", b'2', b"../.."),
        member(b"out/through", b"4\n"),
        link(b"absolute", b'2', b"/"),
        member(b"absolute/through2", b"5\n"),
        link(b"hard", b'1', b"../secret"),
        link(b"hard2", b'1', b"/secret"),
        member(b"good", b"6\n"),
    ];
    let archives = [("hostile.tar".to_owned(), archive(&hostile))];
    fs::write(test_host.work.path("secret"), "secret\n").unwrap();
    let script = "cd w; mkdir here; tar xf in/hostile.tar -C here; echo $?
        find here -type f | sort; cat here/good here/root; readlink here/out";
    let stdout = call(&test_host, &archives, script).await;
    assert_eq!(stdout, "2\nhere/good\nhere/root\n6\n3\n../..\n");
    assert_eq!(outside(&test_host), ["secret"]);
}

#[tokio::test]
async fn an_archive_that_grows_too_large_is_stopped() {
    let test_host = base("").await;
    let script = "cd w; head -c 17000000 /dev/zero > z; tar czf b.tgz z; rm z
        tar xzOf b.tgz > all 2> err; echo $?; head -n 1 err; ls";
    let stdout = call(&test_host, &[], script).await;
    let expected = "2\ntar: the output is larger than 16 MiB\nall\nb.tgz\nerr\nin\n";
    assert_eq!(stdout, expected);
}
