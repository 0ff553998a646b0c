//! What reports hold.

use super::ensembles::sandbox;
use crate::sandbox::{json, number};

#[test]
fn reports_say_what_happened_to_each_query() {
    let sandbox = sandbox();
    let few = "sketch.size=4";
    sandbox.succeed(&["train", "ridge.toml", "--out", "a"]);
    sandbox.succeed(&["train", "ridge.toml", "--out", "b", "--set", few]);
    let report = ["evaluate", "b", "--report", "report", "--against", "a", "--json"];
    let found = json(&sandbox.succeed(&report));
    let against = &found["against"]["mrr"];
    assert_eq!(against["first"], found["mrr"]);
    assert!(
        number(against, "difference") < 0.0 && number(against, "first_better") < 0.5,
        "{found}"
    );
    let ranks = sandbox.read("report/ranks.tsv");
    let rows: Vec<Vec<&str>> = ranks.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows.len(), rows[0][..3].join(" ").as_str()), (11, "query gold rank"));
    let place = rows[0].iter().position(|name| *name == "reciprocal").unwrap();
    let sum: f64 = rows[1..].iter().map(|row| row[place].parse::<f64>().unwrap()).sum();
    assert!((sum / 10.0 - number(&found, "mrr")).abs() < 1e-12, "{ranks}");
    let worst = sandbox.read("report/worst.tsv");
    assert_eq!(worst.lines().count(), 11);
    assert!(worst.lines().nth(1).unwrap().contains("of kind"), "{worst}");
    for name in ["hits.svg", "ranks.svg"] {
        let svg = sandbox.read(&format!("report/{name}"));
        assert!(svg.starts_with("<svg") && svg.contains(">b<") && svg.contains(">a<"), "{svg}");
    }
    let histogram = sandbox.read("report/ranks.svg");
    // screen readers say the title, which stands above the axes too
    assert_eq!(histogram.matches(">Ranks of the right outputs<").count(), 2, "{histogram}");
    let named = histogram.contains(" role=\"img\"");
    assert!(named && histogram.contains("rank of the right output<"), "{histogram}");
    let bins = sandbox.read("report/reliability.tsv");
    let rows: Vec<Vec<&str>> = bins.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((rows.len(), rows[0][3], rows[1][3]), (2, "queries", "10"));
    // the one bin holds all queries
    let right: f64 = rows[1][4].parse().unwrap();
    assert!((right - number(&found, "hits@1")).abs() < 1e-12, "{bins}");
    let figure = sandbox.read("report/reliability.svg");
    assert!(figure.contains("share right") && figure.contains("its gap to the next one"));
    assert!(
        figure.contains("<title>How often right by score; How often right by gap</title>"),
        "{figure}"
    );
    // kernel machines have no epochs
    assert!(!sandbox.path("report/learning.svg").exists());
    // one page that stands by itself
    let page = sandbox.read("report/report.html");
    assert_eq!(page.matches("<tr data-result=").count(), 10);
    let shown_right = page.matches("<tr data-result=\"right\"").count() as f64 / 10.0;
    assert!(shown_right >= number(&found, "hits@1"), "{shown_right}");
    assert!(page.matches("<figure><svg").count() == 3 && page.contains("95 % interval"), "{page}");
    for elsewhere in ["http://", "https://", "src=", "{{"] {
        let inside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!inside.contains(elsewhere), "{elsewhere}");
    }
    let kept = json(&sandbox.read("report/metrics.json").replace('\n', " "));
    assert!(kept["mrr_ci95"].is_array() && kept["mrr"] == found["mrr"], "{kept}");
    // names in the place of directories
    let named = ["evaluate", "b", "--report", "named", "--against", "a", "--labels"];
    sandbox.succeed(&[&named[..], &["four,twenty"]].concat());
    let svg = sandbox.read("named/hits.svg");
    assert!(svg.contains(">four<") && svg.contains(">twenty<") && !svg.contains(">b<"), "{svg}");
    sandbox.fail(&[&named[..], &["four"]].concat(), 2, &["--labels", "2 names"]);
    // training pairs
    let train = json(&sandbox.succeed(&["evaluate", "b", "--split", "train", "--json"]));
    assert_eq!((&train["split"], &train["queries"]), (&"train".into(), &60.into()), "{train}");
    assert!(number(&train, "mrr") > number(&found, "mrr"), "{train}");
    let text = sandbox.succeed(&["evaluate", "a", "--against", "b"]);
    assert!(text.contains("paired bootstrap") && text.contains("better in"), "{text}");
    sandbox.write("file", "");
    sandbox.fail(&["evaluate", "a", "--report", "file"], 1, &["file"]);
}
