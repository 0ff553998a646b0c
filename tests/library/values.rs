//! Values that need no training: devices, overrides, needs of memory, recommended sizes, files of a preparation.

use std::io::ErrorKind;

use dsokr::MeanAndDeviation;
use dsokr::config::Override;
use dsokr::data::DataRoot;
use dsokr::device::Processor;
use dsokr::memory::{Budget, Need, available};
use dsokr::sketch::{Point, recommended};
use dsokr::{Config, Error, Request, Run};

use crate::Folder;

#[test]
fn devices_have_names_and_those_that_were_not_built_say_how_to_build_them() {
    for text in ["cpu", "wgpu", "cuda", "cuda:0", "cuda:3"] {
        assert_eq!(text.parse::<Processor>().unwrap().to_string(), text);
    }
    assert_eq!("cuda:2".parse(), Ok(Processor::Cuda(Some(2))));
    for text in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"] {
        let message = text.parse::<Processor>().unwrap_err();
        assert!(message.contains("cpu, wgpu, cuda or cuda:NUMBER"), "{message}");
    }
    Processor::Cpu.open().unwrap();
    let missing = [
        (Processor::Wgpu, "wgpu", cfg!(feature = "wgpu")),
        (Processor::Cuda(None), "cuda", cfg!(feature = "cuda")),
    ];
    for (processor, feature, _) in missing.into_iter().filter(|(.., built)| !built) {
        let message = processor.open().unwrap_err().to_string();
        assert!(message.contains(&format!("--features {feature}")), "{message}");
    }
}

#[test]
fn errors_say_whether_a_file_was_not_found() {
    let folder = Folder::new();
    assert!(Config::load(folder.path("none.toml")).unwrap_err().is_not_found());
    assert!(Run::open(folder.path("none")).unwrap_err().is_not_found());
    let text = std::fs::read_to_string("configs/quickstart.toml").unwrap();
    let config = Config::parse(&text, &[]).unwrap();
    let root = DataRoot::at(folder.path("no-data"));
    let out = Some(folder.path("run"));
    let missing = Request { root, out, ..Request::new(&config).unwrap() }.run(&mut ()).unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
    std::fs::create_dir(folder.path("run")).unwrap();
    let exists = dsokr::fit(&config, folder.path("run")).unwrap_err();
    assert_eq!(exists.io_kind(), Some(ErrorKind::AlreadyExists), "{exists}");
    let wrong = Config::parse("seed = \"one\"", &[]).unwrap_err();
    assert_eq!(wrong.io_kind(), None, "{wrong}");
}

#[test]
fn overrides_are_values_of_toml_or_else_texts() {
    let text = std::fs::read_to_string("configs/quickstart.toml").unwrap();
    let parse = |change: &str| Config::parse(&text, &[change.parse::<Override>().unwrap()]);
    assert_eq!(parse("training.epochs=3").unwrap().training.epochs, 3);
    assert_eq!(parse("training.learning_rate = 1e-3").unwrap().training.learning_rate, 1e-3);
    assert_eq!(parse("name=try-2").unwrap().name, "try-2");
    assert_eq!(parse("name=\"3\"").unwrap().name, "3");
    let encoder = |change: &str| parse(change).unwrap().encoder.clone();
    assert_ne!(encoder("encoder.hidden=[1, 2]"), encoder("encoder.hidden=[]"));
    for wrong in ["epochs", "training.=1"] {
        assert!(wrong.parse::<Override>().is_err(), "{wrong}");
    }
}

#[test]
fn the_largest_need_is_named_where_there_is_a_limit() {
    let needs = [Need::memory("a", "one", 1.0), Need::memory("b", "other", 1e16)];
    let budget = Budget::default();
    assert!(budget.afford(&needs[..1]).is_ok());
    assert!(Budget { force: true }.afford(&needs).is_ok());
    if available().is_some() {
        let error = budget.afford(&needs).unwrap_err();
        assert!(matches!(&error, Error::Memory { keys, .. } if keys == "b"), "{error}");
        assert!(error.to_string().contains("the argument force"), "{error}");
    }
    // no process can address so much
    let error = Budget { force: true }.afford(&[Need::memory("c", "third", 1e24)]).unwrap_err();
    let message = "c = a size that needs 1000000 EB: expected a size that needs at most 72.1 PB";
    assert!(error.to_string().starts_with(message), "{error}");
}

#[test]
fn the_smallest_size_within_one_percent_of_the_gain_is_recommended() {
    let spread = |mean| MeanAndDeviation { mean, deviation: 0.0 };
    let points = |means: &[f64], fitted: &[f64]| -> Vec<Point> {
        let point = |(at, &mean): (usize, &f64)| Point {
            size: 10 * (at + 1),
            rank: 0.0,
            residual: 0.0,
            perfect: spread(mean),
            fitted: fitted.get(at).copied().map(spread),
            draws: Vec::new(),
            seconds: 0.0,
        };
        means.iter().enumerate().map(point).collect()
    };
    for (means, larger, nothing) in [
        (&[0.2, 0.5, 0.896, 0.9, 0.895][..], true, 0.0),
        (&[4.0, 2.0, 1.009, 1.0], false, 0.0),
        (&[4.0, 2.0, 0.0], false, 0.0),
        // the gain of squared errors is that over no basis at all
        (&[500.0, 30.0, 21.0, 12.0], false, 1000.0),
    ] {
        assert_eq!(recommended(&points(means, &[]), larger, nothing), 30, "{means:?}");
    }
    assert_eq!(recommended(&points(&[1.0; 3], &[0.3, 0.5, 0.4]), true, 0.0), 20);
}

#[test]
fn a_wrong_value_comes_with_its_key() {
    let text = r#"
        [data]
        source = "pool"
        folder = "somewhere"
        file = "pairs.tsv"
        splits = { validation = 7 }
        [output]
        label = "smiles"
        features = { kind = "molecules", column = "smiles", graph = { name = "nspd" } }
        kernel = { name = "cosine" }
        [encoder]
        kind = "kernel-machine"
        inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 2 }] }
        lambda = 1e-3
    "#;
    for (change, message) in [
        ("data.splits.train=nan", "data.splits.train = NaN: expected a share between 0 and 1"),
        ("data.splits.train=-1", "in `data.splits.train`"),
        ("data.splits={train=5}", "data.splits.validation = absent: expected a number of rows"),
        (
            "data.splits.column=\"set\"",
            "data.splits.validation = 7: remove it, with data.splits.column",
        ),
        ("data.splits.x=1", "`train`, `seed`, `group`, `column`, `unpaired`\nin `data.splits.x`"),
        ("data.x=1", "`licence`, `fold`\nin `data.x`"),
        (
            "encoder.inputs.blocks=[{kind=\"words\", min=-1, max=2}]",
            "in `encoder.inputs.blocks[0].min`",
        ),
        ("encoder.lambda=\"x\"", "lambda: expected a number, or a list of numbers"),
        ("output.kernel={name=\"gaussian\", gamma=0}", "gamma = 0: expected a number above 0"),
        ("sketch.method=\"gaussian\"", "string \"gaussian\", expected a table\nin `sketch.method`"),
        (
            "decoding.beyond={formula=\"O2C\"}",
            "decoding.beyond.formula = \"O2C\": expected \"first\"",
        ),
        (
            "decoding.beyond={part=\"x\"}",
            "decoding.beyond.part = \"x\": expected the SMILES of one",
        ),
        (
            "ensemble={combination={name=\"rank\", weights=[1.0]}, seeds=2}",
            "1 weights of ensemble members",
        ),
    ] {
        let checked = Config::parse(text, &[change.parse::<Override>().unwrap()]);
        let error = checked.and_then(|checked| checked.members()).unwrap_err().to_string();
        assert!(error.contains(message), "{change}: {error}");
    }
}

/// The weight decay that is left out is that of each member's optimiser.
#[test]
fn members_have_the_weight_decay_of_their_optimizer() {
    let config = |base: &str, member: &str| {
        let text = format!(
            r#"
            [data]
            source = "pool"
            folder = "somewhere"
            file = "pairs.tsv"
            splits = {{ validation = 7 }}
            [output]
            label = "smiles"
            features = {{ kind = "ngrams", column = "smiles", min = 1, max = 3 }}
            kernel = {{ name = "cosine" }}
            [encoder]
            kind = "ngram-bag"
            [training]
            optimizer = "{base}"
            [ensemble]
            members = [{{ name = "other", training = {{ optimizer = "{member}" }} }}]
            "#
        );
        Config::parse(&text, &[]).unwrap()
    };
    for (base, member, expected) in [("sgd", "adamw", 0.01), ("adamw", "sgd", 0.0)] {
        let members = config(base, member).members().unwrap();
        assert_eq!(members[0].training.weight_decay(), expected, "{base} {member}");
        let written = members[0].to_toml().unwrap();
        assert!(written.contains(&format!("weight_decay = {expected:?}")), "{written}");
    }
}

#[test]
fn none_removes_a_table_of_the_configuration() {
    let text = r#"
        [data]
        source = "pool"
        folder = "somewhere"
        file = "pairs.tsv"
        splits = { validation = 7 }
        [output]
        label = "smiles"
        features = { kind = "ngrams", column = "smiles", min = 1, max = 3 }
        kernel = { name = "cosine" }
        [encoder]
        kind = "kernel-machine"
        inputs = { kind = "ngrams", blocks = [{ kind = "words", min = 1, max = 2 }] }
        lambda = 1e-3
        [decoding]
        normalise = true
        [decoding.hubs]
        weights = [0.3]
    "#;
    let hubs = |changes: &[&str]| {
        let changes: Vec<Override> =
            changes.iter().map(|change| change.parse::<Override>().unwrap()).collect();
        Config::parse(text, &changes).unwrap().decoding.hubs.clone()
    };
    assert_eq!(hubs(&[]).unwrap().weights, [0.3]);
    assert_eq!(hubs(&["decoding.hubs=none"]), None);
    // a table that is set again has its defaults
    let anew = hubs(&["decoding.hubs=none", "decoding.hubs.neighbours=[5]"]).unwrap();
    assert_eq!((anew.weights, anew.neighbours), (vec![0.5], vec![5]));
    // a table that is not there, and a key that does not exist
    assert!(hubs(&["decoding.beyond=none"]).is_some());
    let unknown = "decoding.reranking=none".parse::<Override>().unwrap();
    assert!(Config::parse(text, &[unknown]).is_err());
}
