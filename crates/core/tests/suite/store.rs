//! The file format: whole, verified, atomic.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use dsokr_core::Error;
use dsokr_core::store::{self, Stored, Tensor};
use proptest::prelude::*;

fn metadata() -> BTreeMap<String, String> {
    BTreeMap::from([
        ("answer".to_owned(), "42".to_owned()),
        ("text".to_owned(), "é\"\\".to_owned()),
    ])
}

fn write_sample(path: &Path) {
    let tensors = [
        Tensor::u8("bytes", &[3], &[1, 2, 3]),
        Tensor::f32("single", &[1, 2], &[0.5, -1.0]),
        Tensor::f64("double", &[2], &[1e300, 0.1]),
        Tensor::u32("short", &[1], &[7]),
        Tensor::u64("long", &[1, 1, 1], &[u64::MAX]),
    ];
    store::Contents::new("sample", 3, &metadata(), &tensors).write(path).unwrap();
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    write_sample(&path);
    let stored = Stored::open(&path, "sample", 3).unwrap();
    assert_eq!(stored.names().collect::<Vec<_>>(), ["bytes", "double", "long", "short", "single"]);
    assert_eq!(stored.metadata("text").unwrap(), "é\"\\");
    assert_eq!(stored.parsed::<u32>("answer", "a number").unwrap(), 42);
    assert_eq!(stored.json::<f64>("answer").unwrap(), 42.0);
    assert_eq!(*stored.read::<u8>("bytes", 1).unwrap().1, [1, 2, 3]);
    let (shape, values) = stored.read::<f32>("single", 2).unwrap();
    assert_eq!((shape, &*values), (vec![1, 2], &[0.5, -1.0][..]));
    assert_eq!(*stored.read::<f64>("double", 1).unwrap().1, [1e300, 0.1]);
    assert_eq!(*stored.read::<u32>("short", 1).unwrap().1, [7]);
    assert_eq!(*stored.read::<u64>("long", 3).unwrap().1, [u64::MAX]);
    for name in ["bytes", "double", "long", "short", "single"] {
        assert!(stored.describe(name).is_ok());
    }
    let again = stored.read::<f32>("single", 2).unwrap().1;
    assert_eq!(values.as_ptr(), again.as_ptr(), "read in place");
}

#[test]
fn other_programs_read_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    write_sample(&path);
    let bytes = std::fs::read(&path).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let header = header.metadata().clone().unwrap();
    assert_eq!(header["dsokr.kind"], "sample");
    assert_eq!(header["dsokr.version"], "3");
    assert_eq!(header["dsokr.checksum"].len(), 8);
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("single").unwrap().data(), bytemuck::bytes_of(&[0.5f32, -1.0]));
}

#[test]
fn the_same_content_gives_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a", "b"].map(|name| folder.path().join(name));
    paths.iter().for_each(|path| write_sample(path));
    assert_eq!(std::fs::read(&paths[0]).unwrap(), std::fs::read(&paths[1]).unwrap());
}

#[test]
fn errors_say_whether_a_file_was_not_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let missing = Stored::open(&path, "sample", 3).unwrap_err();
    assert_eq!(missing.io_kind(), Some(ErrorKind::NotFound));
    assert!(missing.at("member 2".into()).is_not_found(), "also of a part");
    let refused = store::Contents::new("sample", 3, &metadata(), &[]).write(&path.join("inside"));
    assert!(refused.unwrap_err().is_not_found(), "the folder of a new file");
    write_sample(&path);
    let other = Stored::open(&path, "basis", 3).unwrap_err();
    assert_eq!((other.io_kind(), other.is_not_found()), (None, false));
    let denied = Error::io(&path)(ErrorKind::PermissionDenied.into());
    assert_eq!(denied.io_kind(), Some(ErrorKind::PermissionDenied));
}

#[test]
fn what_is_asked_for_wrongly_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    write_sample(&path);
    assert!(refused(Stored::open(&path, "basis", 3), "holds \"sample\", expected \"basis\""));
    let version =
        "format version 3, this program reads version 4: train again, or read the file with";
    assert!(refused(Stored::open(&path, "sample", 4), version));
    assert!(refused(Stored::open(&folder.path().join("none"), "sample", 3), "no such file"));
    assert!(refused(Stored::open(folder.path(), "sample", 3), "a folder, expected a file"));
    let stored = Stored::open(&path, "sample", 3).unwrap();
    let error = stored.read::<f32>("triple", 1).unwrap_err().to_string();
    let names = error.split_once("no tensor \"triple\"; it holds ").expect("the names").1;
    assert_eq!(names.split(", ").count(), 5, "{error}");
    assert!(refused(stored.read::<f64>("single", 2), ", allowed: F64"));
    assert!(refused(stored.read::<f32>("single", 1), "has shape"));
    assert!(refused(stored.metadata("question"), "no metadata"));
    let error = stored.parsed::<u32>("text", "a number").unwrap_err();
    assert!(error.to_string().contains("metadata "), "{error}");
    assert!(refused(stored.json::<u32>("text"), "metadata "));
}

#[test]
fn only_left_over_temporary_files_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let names = || -> std::collections::BTreeSet<String> {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    // What a killed process leaves is what is there in the middle of a write.
    let mut left = String::new();
    store::write_atomically(&path, |file| {
        left = names().into_iter().next().unwrap();
        file.write_all(b"whole")
    })
    .unwrap();
    std::fs::write(folder.path().join(&left), "half").unwrap();
    let others = [
        ".a.partial",
        ".abcdef.partial",
        ".a.abcde.partial",
        ".a.abc-ef.partial",
        ".a.abcdef.part",
        "a.abcdef.partial",
    ];
    others.iter().for_each(|name| std::fs::write(folder.path().join(name), "mine").unwrap());
    std::fs::create_dir(folder.path().join(".folder.abcdef.partial")).unwrap();
    assert_eq!(names().len(), others.len() + 3);
    assert_eq!(store::remove_partial(folder.path()), 1);
    assert!(!names().contains(&left));
    assert_eq!(names().len(), others.len() + 2);
    assert_eq!(store::remove_partial(&folder.path().join("nowhere")), 0);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let values = [1.0f32, 2.0];
    for tensors in [
        vec![Tensor::f32("x", &[3], &values)],
        vec![Tensor::f32("x", &[usize::MAX, 2], &values)],
        vec![Tensor::f32("x", &[2], &values), Tensor::f32("x", &[2], &values)],
        vec![Tensor::f32("__metadata__", &[2], &values)],
    ] {
        let error =
            store::Contents::new("k", 1, &BTreeMap::new(), &tensors).write(&path).unwrap_err();
        assert!(error.to_string().contains("cannot write"), "{error}");
    }
    let reserved = BTreeMap::from([("dsokr.kind".to_owned(), "x".to_owned())]);
    let error = store::Contents::new("k", 1, &reserved, &[]).write(&path).unwrap_err();
    assert!(error.to_string().contains("cannot write"), "{error}");
    assert!(!path.exists());
}

#[test]
fn damage_anywhere_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    write_sample(&path);
    let whole = std::fs::read(&path).unwrap();
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let error = Stored::open(&path, "sample", 3).unwrap_err();
        assert!(error.to_string().contains("not a safetensors file"), "cut to {length}: {error}");
    }
    for bit in 0..8 * whole.len() {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &bytes).unwrap();
        assert!(Stored::open(&path, "sample", 3).is_err(), "bit {bit} flipped");
    }
    let last = whole.len() - 1;
    let flipped = [&whole[..last], &[whole[last] ^ 1]].concat();
    std::fs::write(&path, flipped).unwrap();
    assert!(refused(Stored::open(&path, "sample", 3), "damaged: checksum"));
}

/// A header whose length is no multiple of 8 leaves the tensors unaligned; they are copied.
#[test]
fn an_unaligned_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let header = br#"{"x":{"dtype":"F64","shape":[2,1],"data_offsets":[0,16]}}"#;
    let header = [&header[..], &b" ".repeat(9 - header.len() % 8)[..]].concat();
    assert_eq!(header.len() % 8, 1);
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    bytes.extend(bytemuck::bytes_of(&[1.5f64, -2.0]));
    std::fs::write(&path, bytes).unwrap();
    let mapping = store::Mapping::open(&path).unwrap();
    let entry = mapping.entry("x").unwrap();
    let values = store::elements::<f64>(mapping.bytes(entry.bytes.clone()));
    assert_eq!((&entry.shape[..], &values[..]), (&[2, 1][..], &[1.5, -2.0][..]));
}

#[test]
fn a_failed_write_changes_nothing_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    store::write_atomically(&path, |file| file.write_all(b"old")).unwrap();
    let failed = store::write_atomically(&path, |file| {
        file.write_all(&[0; 3 << 20])?;
        Err(std::io::Error::other("power cut"))
    });
    match failed.unwrap_err() {
        Error::Io { path: actual, source } => {
            assert_eq!((actual, source.to_string().as_str()), (path.clone(), "power cut"));
        }
        other => panic!("{other}"),
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    store::write_atomically(&path, |file| file.write_all(b"new")).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    let nowhere = folder.path().join("no/such/folder/file");
    assert!(matches!(store::write_atomically(&nowhere, |_| Ok(())), Err(Error::Io { .. })));
    assert!(matches!(store::write_atomically(Path::new("/"), |_| Ok(())), Err(Error::File { .. })));
}

/// What is there and is no file stays, and a link goes on leading to the file that is written.
#[cfg(unix)]
#[test]
fn only_files_are_replaced() {
    use std::os::unix::fs::{FileTypeExt, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str| store::write_atomically(&at(name), |file| file.write_all(b"new"));
    let count = || std::fs::read_dir(folder.path()).unwrap().count();
    std::fs::create_dir(at("folder")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    let socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    symlink("pipe", at("to pipe")).unwrap();
    symlink("nowhere", at("to nowhere")).unwrap();
    let before = count();
    for (name, says) in [
        ("folder", "is a directory"),
        ("pipe", "a named pipe, expected a file"),
        ("socket", "a socket, expected a file"),
        ("to pipe", "a named pipe, expected a file"),
        ("to nowhere", "a link to a file that does not exist"),
    ] {
        let error = write(name).unwrap_err();
        assert!(matches!(error, Error::File { .. }), "{name}: {error}");
        assert!(error.to_string().contains(says), "{name}: {error}");
    }
    drop(socket);
    assert_eq!(count(), before);
    assert!(std::fs::symlink_metadata(at("pipe")).unwrap().file_type().is_fifo());
    assert!(std::fs::symlink_metadata(at("to pipe")).unwrap().is_symlink());

    std::fs::create_dir(at("folder/inside")).unwrap();
    std::fs::write(at("folder/inside/file"), "old").unwrap();
    symlink("folder/inside/file", at("first")).unwrap();
    symlink("first", at("second")).unwrap();
    write("second").unwrap();
    assert_eq!(std::fs::read(at("folder/inside/file")).unwrap(), b"new");
    assert!(std::fs::symlink_metadata(at("second")).unwrap().is_symlink());
    assert_eq!(count(), before + 2);
}

/// The next write of a file removes what a killed one has left; what a process is writing stays.
#[test]
fn what_a_killed_write_left_is_removed_by_the_next_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let left =
        [".a.npy.abcdef.partial", ".a.npy.folder.partial"].map(|name| folder.path().join(name));
    std::fs::write(&left[0], "half").unwrap();
    std::fs::create_dir(&left[1]).unwrap();
    std::fs::write(left[1].join("inside"), "half").unwrap();
    let others = [".b.npy.abcdef.partial", ".a.npy.abc.partial", "a.npy.abcdef.partial"];
    others.iter().for_each(|name| std::fs::write(folder.path().join(name), "mine").unwrap());
    let first = store::prepare(&path, |file| file.write_all(b"first")).unwrap();
    assert!(!left[0].exists());
    assert_eq!(left[1].exists(), cfg!(not(unix)));
    let filled = folder.path().join("filled");
    store::new_folder(&filled, |here| {
        // while both are being written
        store::write_atomically(&path, |file| file.write_all(b"second"))?;
        store::remove_abandoned(&filled);
        assert!(here.exists());
        Ok::<(), Error>(())
    })
    .unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"second");
    first.place().unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"first");
    for name in others {
        assert_eq!(std::fs::read_to_string(folder.path().join(name)).unwrap(), "mine");
    }
}

#[test]
fn what_is_prepared_and_not_placed_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    drop(store::prepare(&path, |file| file.write_all(b"x")).unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A folder is the old one or the new one at every moment, and the old one where filling fails.
#[test]
fn a_folder_is_replaced_as_a_whole() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("above/folder");
    let fill = |version: usize| {
        move |here: &Path| {
            for name in ["a", "b"] {
                let text = version.to_string();
                store::write_atomically(&here.join(name), |file| file.write_all(text.as_bytes()))?;
            }
            Ok::<(), Error>(())
        }
    };
    store::new_folder(&path, fill(0)).unwrap();
    assert!(matches!(store::new_folder(&path, fill(9)), Err(Error::Io { .. })));
    store::replace_folder(&path, fill(1)).unwrap();
    let failed = store::replace_folder(&path, |here| {
        fill(2)(here)?;
        Err(Error::Numeric("full".into()))
    });
    assert!(matches!(failed, Err(Error::Numeric(_))));
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap();
    assert_eq!([read("a"), read("b")], ["1", "1"]);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            (2..40).for_each(|version| store::replace_folder(&path, fill(version)).unwrap());
        });
        while !writer.is_finished() {
            // at no moment it is not there
            #[cfg(any(target_os = "linux", target_vendor = "apple"))]
            assert!(path.join("a").exists());
        }
    });
    assert_eq!([read("a"), read("b")], ["39", "39"]);
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

/// While a file is replaced again and again, a reader sees one whole version or another.
#[test]
fn a_reader_never_sees_half_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let write = |byte: u8| store::write_atomically(&path, |file| file.write_all(&[byte; 1 << 16]));
    write(0).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (1..40).for_each(|byte| write(byte).unwrap()));
        while !writer.is_finished() {
            let bytes = std::fs::read(&path).unwrap();
            assert_eq!(bytes.len(), 1 << 16);
            assert!(bytes.iter().all(|&byte| byte == bytes[0]));
        }
    });
}

#[cfg(unix)]
#[test]
fn files_have_ordinary_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ours");
    let ordinary = folder.path().join("ordinary");
    store::write_atomically(&ours, |file| file.write_all(b"x")).unwrap();
    std::fs::write(&ordinary, b"x").unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&ours), mode(&ordinary));
    // a new version is as private as the one that it replaces
    std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o600)).unwrap();
    store::write_atomically(&ours, |file| file.write_all(b"y")).unwrap();
    assert_eq!((mode(&ours) & 0o777, std::fs::read(&ours).unwrap()), (0o600, b"y".to_vec()));
    // and so is a folder
    let [ours, ordinary] = ["our folder", "ordinary folder"].map(|name| folder.path().join(name));
    let replace = || {
        store::replace_folder(&ours, |here| {
            std::fs::write(here.join("x"), b"x").map_err(Error::io(here))
        })
    };
    replace().unwrap();
    std::fs::create_dir(&ordinary).unwrap();
    assert_eq!(mode(&ours), mode(&ordinary));
    std::fs::set_permissions(&ours, std::fs::Permissions::from_mode(0o700)).unwrap();
    replace().unwrap();
    assert_eq!(mode(&ours) & 0o777, 0o700);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_content_survives(
        values in proptest::collection::vec(any::<f32>(), 0..50),
        words in proptest::collection::vec(any::<u64>(), 0..5),
        key in "[^.]{0,8}", value in ".{0,20}", name in ".{1,12}",
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let f32s = format!("{name} f32");
        let u64s = format!("{name} u64");
        let tensors = [Tensor::f32(&f32s, &[values.len()], &values), Tensor::u64(&u64s, &[words.len()], &words)];
        let metadata = BTreeMap::from([(key.clone(), value.clone())]);
        store::Contents::new("any", 1, &metadata, &tensors).write(&path).unwrap();
        let stored = Stored::open(&path, "any", 1).unwrap();
        prop_assert_eq!(stored.metadata(&key).unwrap(), value);
        let (_, actual) = stored.read::<f32>(&f32s, 1).unwrap();
        let same = actual.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits());
        prop_assert!(same && actual.len() == values.len());
        prop_assert_eq!(&*stored.read::<u64>(&u64s, 1).unwrap().1, &words[..]);
        prop_assert_eq!(stored.checksum(), store::Contents::new("any", 1, &metadata, &tensors).checksum());
    }
}

#[test]
fn tensors_are_filled_piece_by_piece_and_verified_block_by_block() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    let short: Vec<u32> = (0..9).collect();
    let long: Vec<f32> = (0..300_001).map(|at| at as f32).collect();
    let write = |count: usize| {
        let tensors = [
            Tensor::u8("bytes", &[3], &[1, 2, 3]),
            Tensor::to_fill::<u32>("short", &[9]),
            Tensor::to_fill::<f32>("long", &[long.len()]).in_small_blocks(),
        ];
        store::Contents::new("sample", 3, &metadata(), &tensors).write_filled(&path, |filling| {
            for at in 0..9 {
                filling.append("short", &short[at..at + 1])?;
                let end = count.min((at + 1) * 33_334);
                filling.append("long", &long[at * 33_334..end])?;
            }
            Ok::<(), Error>(())
        })
    };
    assert!(refused(write(300_000), "cannot write \"long\": its bytes do not fill its shape"));
    assert!(!path.exists());
    write(long.len()).unwrap();
    let stored = std::sync::Arc::new(Stored::open(&path, "sample", 3).unwrap());
    assert_eq!(*stored.read::<f32>("long", 1).unwrap().1, long);
    let (_, short_again) = stored.checked_array::<u32>("short", 1).unwrap().unwrap();
    assert_eq!(short_again.get(2..9, |_, _| Ok::<_, Error>(())).unwrap(), &short[2..]);
    // a block is verified when it is first read, and no other
    let mut bytes = std::fs::read(&path).unwrap();
    let place = bytes.windows(4).position(|four| four == 100_000f32.to_le_bytes()).unwrap();
    bytes[place] ^= 1;
    Stored::verify(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    assert!(refused(Stored::verify(&path), "damaged: checksum of block 6 of \"long\""));
    let stored = std::sync::Arc::new(Stored::open(&path, "sample", 3).unwrap());
    let (_, array) = stored.checked_array::<f32>("long", 1).unwrap().unwrap();
    for array in [&array, &stored.checked_array("long", 1).unwrap().unwrap().1.scattered()] {
        let get = |range| array.get(range, |_, _| Ok::<_, Error>(())).map(<[f32]>::to_vec);
        assert_eq!(get(0..90_000).unwrap(), long[..90_000]);
        assert_eq!(get(280_000..300_001).unwrap(), long[280_000..]);
        assert!(refused(get(80_000..120_000), "damaged: checksum of block 6 of \"long\""));
    }
    let filled = |name: &str, count: usize| {
        let tensors = [Tensor::to_fill::<u32>("short", &[9])];
        store::Contents::new("sample", 3, &metadata(), &tensors)
            .write_filled(&path, |filling| filling.append(name, &vec![0u32; count]))
    };
    assert!(refused(filled("short", 10), "its bytes do not fill its shape"));
    assert!(refused(filled("other", 9), "cannot write \"other\": the file does not have it"));
}

/// Returns whether there is an error whose message contains `part`.
fn refused<T>(result: Result<T, Error>, part: &str) -> bool {
    result.is_err_and(|error| error.to_string().contains(part))
}
