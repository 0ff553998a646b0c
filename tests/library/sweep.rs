//! Settings of sweeps and their tables.

use dsokr::Metric;
use dsokr::data::SplitName;
use dsokr::sketch::Spread;
use dsokr::sweep::{Axis, AxisValues, SeedSpread, Setting, Sweep, SweepRun, grid, random};

fn axis(text: &str) -> Axis {
    text.parse().unwrap()
}

#[test]
fn axes_are_lists_or_ranges() {
    let values = |text: &str| match axis(text).values {
        AxisValues::List(values) => values.join(" | "),
        AxisValues::Range { .. } => panic!("{text}"),
    };
    assert_eq!(values("training.learning_rate=1e-3,3e-3"), "1e-3 | 3e-3");
    assert_eq!(values("encoder.hidden=[16], [32, 8]"), "[16] | [32, 8]");
    assert_eq!(values("a.b=\"x,y\",z"), "\"x,y\" | z");
    assert_eq!(values("data.train=\"../a.tsv\""), "\"../a.tsv\"");
    let expected = AxisValues::Range { low: 1e-4, high: 1e-2, logarithmic: true, whole: false };
    assert_eq!(axis("training.learning_rate=1e-4..1e-2:log").values, expected);
    let expected = AxisValues::Range { low: 10.0, high: 40.0, logarithmic: false, whole: true };
    assert_eq!(axis("sketch.size=10..40").values, expected);
    for wrong in
        ["a", "=1", "a.=1", "a=", "a=1,,2", "a=[1", "a=1]", "a=2..1", "a=0..1:log", "a=1..x"]
    {
        assert!(wrong.parse::<Axis>().unwrap_err().contains(wrong), "{wrong}");
    }
}

#[test]
fn a_grid_is_a_product_and_random_settings_are_in_their_ranges() {
    let axes = [axis("a=1,2"), axis("b=x,y,x")];
    let text: Vec<String> = grid(&axes)
        .unwrap()
        .iter()
        .map(|setting| setting.iter().map(|(_, value)| value.as_str()).collect())
        .collect();
    assert_eq!(text, ["1x", "1y", "2x", "2y"]);
    assert!(grid(&[]).is_err());
    assert!(grid(&[axis("a=1..2")]).unwrap_err().to_string().contains("the argument random"));
    assert!(grid(&[axis("a=1"), axis("a=2")]).unwrap_err().to_string().contains("a twice"));

    let axes = [axis("rate=1e-4..1e-2:log"), axis("size=1..3"), axis("name=p,q")];
    let drawn = random(&axes, 200, 7).unwrap();
    assert_eq!(random(&axes, 50, 7).unwrap(), drawn[..50]);
    let number = |setting: &Setting, at: usize| setting[at].1.parse::<f64>().unwrap();
    let below = drawn.iter().filter(|setting| number(setting, 0) < 1e-3).count();
    assert!((70..130).contains(&below), "half of the logarithms: {below}");
    for size in 1..=3 {
        let count = drawn.iter().filter(|s| s[1].1 == size.to_string()).count();
        assert!((40..95).contains(&count), "{size}: {count} of {}", drawn.len());
    }
    assert!(drawn.iter().all(|setting| (1e-4..=1e-2).contains(&number(setting, 0))));
    for count in [0, 10_001, usize::MAX] {
        let error = random(&axes, count, 7).unwrap_err().to_string();
        assert!(error.contains(&format!("{count}")) && error.contains("1 to 10000"), "{error}");
    }
    let hundred = (0..100).map(|value| value.to_string()).collect::<Vec<_>>().join(",");
    let axes = ["a", "b", "c"].map(|key| axis(&format!("{key}={hundred}")));
    assert_eq!(grid(&axes[..2]).unwrap().len(), 10_000);
    let error = grid(&axes).unwrap_err().to_string();
    assert!(error.contains("10000 × 100") && error.contains("at most 10000"), "{error}");
}

#[test]
fn tables_have_every_run() {
    let run = |value: Option<f64>, setting: &str| SweepRun {
        setting: vec![setting.into()],
        path: "runs/s".into(),
        value,
        ci95: value.map(|value| [value - 0.25, value + 0.25]),
        metrics: value.iter().map(|&value| ("mrr".to_owned(), value)).collect(),
        seconds: None,
        failure: value.is_none().then(|| "step 3, loss".into()),
    };
    let mut sweep = Sweep {
        path: "runs".into(),
        split: SplitName::Validation,
        metric: "mrr".into(),
        larger_is_better: true,
        keys: vec!["a.b".into()],
        runs: vec![run(Some(0.5), "[1, 2]"), run(None, "3")],
        seeds: Vec::new(),
    };
    let expected = "a.b,mrr,mrr_low,mrr_high,run,failure\n\"[1, 2]\",0.5,0.25,0.75,runs/s,\n\
                        3,,,,runs/s,\"step 3, loss\"\n";
    assert_eq!(sweep.csv(), expected);
    let markdown = "| a.b | validation mrr ↑ | 95 % interval | run |\n|---|---|---|---|\n\
                        | [1, 2] | 0.5000 | [0.2500, 0.7500] | runs/s |\n| 3 | failed |  | runs/s |\n";
    assert_eq!(sweep.markdown(), markdown);
    let seeds = vec!["1".into(), "2".into()];
    let values = vec![0.25, 0.5];
    let setting = vec!["3".into()];
    let spread = Spread { mean: 0.375, deviation: 0.1768 };
    sweep.seeds = vec![SeedSpread { setting, metric: Metric::default(), spread, seeds, values }];
    let table = "\n| a.b | validation metric | mean ± deviation | seeds |\n|---|---|---|---|\n\
                 | 3 | mrr | 0.3750 ± 0.1768 | 1, 2 |\n";
    assert_eq!(sweep.markdown(), markdown.to_owned() + table);
    assert_eq!(sweep.best().map(|run| &run.setting[0][..]), Some("[1, 2]"));
}
