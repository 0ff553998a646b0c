//! The page of `dsokr serve` in a real browser: headless Chromium, driven by ChromeDriver.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::beyond;
use crate::golds;
use crate::sandbox::Sandbox;
use crate::served::{Served, molecules, send};
use crate::spectra;

/// A browser, closed at the end.
struct Browser {
    driver: Child,
    address: String,
    session: String,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        send(&self.address, "DELETE", &format!("/session/{}", self.session), "", b"");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

impl Browser {
    /// None where there is no ChromeDriver, of which a line with the test tells.
    fn start(test: &str) -> Option<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .inspect_err(|_| eprintln!("skipped: {test}: chromedriver is not installed"))
            .ok()?;
        let mut lines = BufReader::new(driver.stdout.take()?).lines().map_while(Result::ok);
        let port = lines.find_map(|line| {
            line.split("started successfully on port ")
                .nth(1)
                .map(|rest| rest.trim_end_matches('.').to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        let address = format!("127.0.0.1:{}", port.expect("a port of ChromeDriver"));
        let profile = tempfile::tempdir().unwrap();
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,900",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted =
            json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        let body = wanted.to_string();
        let answer = send(&address, "POST", "/session", "application/json", body.as_bytes());
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let session = answer["value"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}"));
        Some(Self { driver, address, session: session.to_owned(), _profile: profile })
    }

    fn call(&self, command: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{command}", self.session);
        let answer =
            send(&self.address, "POST", &path, "application/json", body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{command}: {}", answer.body);
        serde_json::from_str::<Value>(&answer.body).unwrap()["value"].clone()
    }

    fn open(&self, url: &str) {
        self.call("url", &json!({"url": url}));
    }

    /// The value of a JavaScript expression.
    fn value(&self, script: &str) -> Value {
        self.call("execute/sync", &json!({"script": format!("return {script};"), "args": []}))
    }

    /// Waits until an expression is true.
    fn wait(&self, script: &str) {
        let begun = Instant::now();
        while self.value(script) != json!(true) {
            let text = self.value("document.body.innerText");
            assert!(begun.elapsed() < Duration::from_secs(30), "never: {script}; the page: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The rules of WCAG 2 AA and below that elements of the page break, by axe-core, with a selector of each; none
    /// where axe-core is not installed.
    fn broken_rules(&self) -> Vec<String> {
        let Some(axe) = std::env::var_os("AXE_CORE") else {
            eprintln!(
                "skipped: accessibility: AXE_CORE does not name the file axe.min.js of axe-core"
            );
            return Vec::new();
        };
        let axe = std::fs::read_to_string(axe).expect("axe.min.js");
        self.call("execute/sync", &json!({"script": axe, "args": []}));
        let check = "const done = arguments[0]; \
                     axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }).then(({ violations }) => \
                     done(violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.target} ${node.failureSummary}`))))";
        let broken = self.call("execute/async", &json!({"script": check, "args": []}));
        serde_json::from_value(broken).unwrap()
    }

    fn element(&self, selector: &str) -> String {
        let found = self.call("element", &json!({"using": "css selector", "value": selector}));
        found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned()
    }

    fn keys(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.call(&format!("element/{element}/value"), &json!({"text": text}));
    }

    /// A narrow screen, where nothing is wider than the page.
    fn narrow(&self) {
        let narrow = json!({"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": true});
        let emulate = json!({"cmd": "Emulation.setDeviceMetricsOverride", "params": narrow});
        self.call("goog/cdp/execute", &emulate);
        self.wait("innerWidth === 400 && document.documentElement.scrollWidth <= 400");
    }

    fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.call(&format!("element/{element}/click"), &json!({}));
    }
}

/// The key Enter of WebDriver.
const ENTER: &str = "\u{e007}";

#[test]
fn the_page_searches_filters_copies_and_turns_pages() {
    let Some(browser) = Browser::start("the_page_searches_filters_copies_and_turns_pages") else {
        return;
    };
    let sandbox = molecules();
    let served = Served::start(&sandbox, &["molecules"]);
    let page = format!("http://{}/", served.address);
    browser.open(&page);
    browser.wait("document.querySelectorAll('#examples button').length > 0");
    // type and see
    browser.keys("#query", &format!("A carboxylic acid with a bromine atom.{ENTER}"));
    browser.wait("document.querySelectorAll('.card').length === 20");
    browser.wait(
        "[...document.querySelectorAll('.card img')].slice(0, 2).every(image => image.complete && image.naturalWidth > 0)",
    );
    assert_eq!(browser.value("document.querySelector('.rank').textContent"), json!("1"));
    // the answer is on the first screen, below one line with examples, filters and export
    browser.wait("!document.getElementById('more').open && document.querySelector('.tools').offsetHeight < 60");
    browser.wait("document.querySelector('.card img').getBoundingClientRect().top < 450");
    let address = browser.value("location.search");
    assert!(address.as_str().unwrap().contains("q=A+carboxylic+acid"), "{address}");
    assert_eq!(browser.broken_rules(), Vec::<String>::new());
    // bars have a scale
    browser.wait(
        "/^Bars show scores from 0 to that of the first candidate, [0-9.]+[.]$/.test(document.getElementById('scale').textContent)",
    );
    browser.wait("document.getElementById('scale').textContent.includes(document.querySelector('.card .score').textContent)");
    // what the server doubts is a sentence
    let doubt = "sure({ hits: [], cautions: ['the order means nothing'] }, false)[0].textContent";
    assert_eq!(browser.value(doubt), json!("The order means nothing."));
    // groups are one line of words, whatever the height of the card is
    browser.wait(
        "[...document.querySelectorAll('.card .groups')].every(groups => groups.offsetHeight < 60)",
    );
    // a picture opens large
    browser.click(".card .picture");
    browser.wait("document.getElementById('large').open && document.getElementById('large-image').naturalWidth > 0");
    browser.click("#large-close");
    // words that training texts lack, of which the model reads the characters too
    browser.open(&format!("{page}?q=zzzz+acidqqq"));
    browser.wait(
        "/0 of 2 words occur in training texts/.test(document.getElementById('sure').textContent)",
    );
    browser.wait("document.querySelectorAll('.confidence').length === 1");
    // however long a word is, the page is as wide as the window
    browser.open(&format!("{page}?q={}", "z".repeat(3000)));
    browser.wait("document.querySelectorAll('.card').length === 20");
    browser.wait("document.documentElement.scrollWidth <= innerWidth");
    // a pointer meets the words that open a panel
    browser.wait("document.querySelector('.tools summary').offsetHeight >= 24");
    // bars of a page end at the score of the query's own first candidate, which a link to a later page asks for
    let scale = "document.getElementById('scale').textContent";
    browser.open(&format!("{page}{}", address.as_str().unwrap()));
    browser.wait("document.querySelectorAll('.card .bar').length === 20");
    let of_first = browser.value(scale);
    browser.click("#next");
    browser.wait("document.getElementById('page').textContent === 'Page 2'");
    browser.value("(document.getElementById('query').value = 'An ether.', null)");
    browser.click("#form button.first");
    browser.wait("document.getElementById('page').textContent === 'Page 1'");
    browser.wait(&format!("{scale} !== {of_first}"));
    browser.call("back", &json!({}));
    browser.wait(&format!(
        "document.getElementById('page').textContent === 'Page 2' && {scale} === {of_first}"
    ));
    browser.open(&format!("{page}{}&skip=20", address.as_str().unwrap()));
    browser.wait("document.querySelectorAll('.card .bar').length === 20");
    assert_eq!(browser.value(scale), of_first);
    // a list with a stated confidence takes no filters
    browser.open(&format!("{page}?q=An+acid.&coverage=0.9&formula=Br*"));
    browser.wait("/cannot be filtered/.test(document.getElementById('error').textContent)");
    browser.wait("document.getElementById('filters').open");
    // and is saved whole
    browser.open(&format!("{page}?q=An+acid.&coverage=0.9"));
    browser.wait("document.querySelectorAll('.card').length > 0 && document.getElementById('export-first').hidden");
    // how sure the first candidate of all is says nothing of one that passes a filter
    browser.open(&format!("{page}?q=An+acid.&condition=mass+%3E+100000"));
    browser.wait(
        "/^None of 2,000 molecules passes/.test(document.getElementById('summary').textContent)",
    );
    browser.wait("!document.getElementById('sure').textContent.includes('Confidence')");
    browser.open(&format!("{page}{}", address.as_str().unwrap()));
    browser.wait("document.querySelectorAll('.card').length === 20");
    browser.wait("document.getElementById('sure').textContent.includes('Confidence')");
    // a long query is not sent as an address, and yet it holds
    browser.value("(document.getElementById('query').value = 'An acid. '.repeat(1000), null)");
    browser.click("#form button.first");
    browser.wait("location.search === '' && location.hash.startsWith('#?q=An+acid.')");
    // and the link to the results leaves it
    browser.value("(document.querySelector('.skip').click(), null)");
    browser.wait("document.activeElement.id === 'results'");
    assert_eq!(
        browser.value("document.getElementById('query').value.length + ' ' + location.hash.startsWith('#?q=An+acid.')"),
        json!("9000 true")
    );
    browser.call("refresh", &json!({}));
    browser.wait("document.querySelectorAll('.card').length === 20 && document.getElementById('query').value.length === 8999");
    browser.open(&format!("{page}{}", address.as_str().unwrap()));
    browser.wait("document.querySelectorAll('.card').length === 20");
    // numbers are whole or refused
    browser.value("(document.getElementById('export-count').value = '1,000', null)");
    browser.click("#export summary");
    browser.click("#export button");
    browser
        .wait("/1,000 is not a whole number/.test(document.getElementById('error').textContent)");
    // filter
    browser.click("#filters summary");
    browser.keys("#formula", &format!("Br*{ENTER}"));
    browser.wait("/pass the filters/.test(document.getElementById('summary').textContent)");
    browser.wait(
        "[...document.querySelectorAll('.formula')].every(own => own.textContent.includes('Br'))",
    );
    let filtered = browser.value("location.search").as_str().unwrap().to_owned();
    assert!(filtered.contains("formula=Br*"), "{filtered}");
    browser.keys("#formula", &format!("?{ENTER}"));
    browser.wait("/element symbols/.test(document.getElementById('error').textContent)");
    // the error names the field as its label does
    browser.wait(
        "document.getElementById('error').textContent.startsWith('Formula = \"Br*?\": expected')",
    );
    assert_eq!(browser.value("document.activeElement.id"), json!("formula"));
    browser.keys("#max-mass", &format!("1,000{ENTER}"));
    browser.wait("/^Highest mass, g.mol: 1,000 may have a comma for thousands/.test(document.getElementById('error').textContent)");
    // the address holds the search; going back undoes the filter
    browser.open(&format!("{page}{filtered}"));
    browser.wait("document.querySelectorAll('.card').length > 0 && document.getElementById('formula').value === 'Br*'");
    browser.click("#clear");
    browser.wait("document.querySelectorAll('.card').length === 0 && location.search === ''");
    // a condition is the same text as that of the command
    browser.open(&format!("{page}?q=An+acid.&condition=mass+%3C+150"));
    browser.wait("/pass the filters/.test(document.getElementById('summary').textContent)");
    browser.wait(
        "[...document.querySelectorAll('.facts .small')].every(mass => Number.parseFloat(mass.textContent) < 150)",
    );
    browser.click("#filters summary");
    browser.keys("#condition", &format!(" 2{ENTER}"));
    browser.wait("/at position/.test(document.getElementById('error').textContent)");
    browser.wait("document.activeElement.id === 'condition'");
    browser.wait("document.getElementById('error').textContent.startsWith('Condition = ')");
    browser.click("#clear");
    browser.wait("document.querySelectorAll('.card').length === 0 && location.search === ''");
    browser.click("#examples button");
    browser.wait("document.querySelectorAll('.card').length === 20");
    // page and keys
    let first = browser.value("document.querySelector('.card').dataset.id");
    browser.click("#next");
    browser.wait("document.getElementById('page').textContent === 'Page 2' && document.querySelectorAll('.card').length === 20");
    browser.wait(&format!("document.querySelector('.card').dataset.id !== {first}"));
    browser.call("back", &json!({}));
    browser.wait(&format!("document.querySelector('.card')?.dataset.id === {first}"));
    // two turns at once are two pages
    let turn = "document.getElementById('next').click()";
    browser.value(&format!("({turn}, {turn}, null)"));
    browser.wait("document.getElementById('page').textContent === 'Page 3' && location.search.includes('skip=40')");
    browser.call("back", &json!({}));
    browser.wait(&format!("document.querySelector('.card')?.dataset.id === {first}"));
    // a turn that is cancelled leaves the page and its address
    browser.value(
        "(window.fetchServer = fetch, window.fetch = (path, options) => new Promise((_, refuse) => \
         options.signal.addEventListener('abort', () => refuse(new Error('cancelled')))), null)",
    );
    browser.value(&format!("({turn}, null)"));
    browser.wait("document.getElementById('results').getAttribute('aria-busy') === 'true'");
    browser.value("(document.getElementById('cancel').click(), null)");
    browser.wait("document.getElementById('results').getAttribute('aria-busy') === 'false'");
    assert_eq!(browser.value("state.skip"), json!(0));
    assert_eq!(browser.value("location.search.includes('skip')"), json!(false));
    browser.value("(window.fetch = window.fetchServer, null)");
    // a page and a file are of the answer that is shown, whatever stands in the form
    browser.value("(document.getElementById('query').value = 'unsent', null)");
    browser.click("#next");
    browser.wait(&format!("document.getElementById('page').textContent === 'Page 2' && document.querySelector('.card').dataset.id !== {first}"));
    browser.wait("location.search.includes('skip=20') && !location.search.includes('unsent')");
    browser.value(
        "(window.saveFile = (blob) => { blob.text().then((text) => { window.saved = text; }); }, null)",
    );
    browser.click("#export summary");
    browser.click("#export button");
    browser.wait(&format!("window.saved?.split('\\r\\n')[1].split(',')[1] === {first}"));
    browser.value("document.activeElement.blur()");
    browser.keys("body", "j");
    browser.wait("document.activeElement === document.querySelector('.card')");
    // copy; the clipboard of a headless browser cannot be read
    browser
        .value("(navigator.clipboard.writeText = async text => { window.copied = text; }, null)");
    browser.click(".card .label button");
    browser.wait("window.copied === document.querySelector('.card').dataset.copy");
    browser.narrow();
    browser.wait("document.querySelector('.card').getBoundingClientRect().width > 300");
}

/// A query that is typed and sent while the models are still read is answered when they are.
#[test]
fn the_page_keeps_what_is_typed_before_the_models_are_known() {
    let name = "the_page_keeps_what_is_typed_before_the_models_are_known";
    let Some(browser) = Browser::start(name) else { return };
    let sandbox = molecules();
    let served = Served::start(&sandbox, &["molecules"]);
    let source = "const reachServer = window.fetch; \
                  window.fetch = (path, ...more) => (path === 'api/models' \
                  ? new Promise((resolve) => { window.goOn = resolve; }).then(() => reachServer(path, ...more)) \
                  : reachServer(path, ...more));";
    let script =
        json!({"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": source}});
    browser.call("goog/cdp/execute", &script);
    browser.open(&format!("http://{}/", served.address));
    browser
        .wait("/^Reading the models/.test(document.getElementById('progress-says').textContent)");
    browser.wait(
        "!document.getElementById('progress').hidden && document.getElementById('cancel').hidden",
    );
    browser.keys("#query", "An acid.");
    browser.value("(window.goOn(), null)");
    browser.wait("document.querySelectorAll('#examples button').length > 0");
    assert_eq!(browser.value("document.getElementById('query').value"), json!("An acid."));
    assert_eq!(browser.value("document.querySelectorAll('.card').length"), json!(0));

    browser.open(&format!("http://{}/", served.address));
    browser.keys("#query", &format!("An acid.{ENTER}"));
    assert_eq!(browser.value("document.getElementById('error').hidden"), json!(true));
    browser.value("(window.goOn(), null)");
    browser.wait("document.querySelectorAll('.card').length === 20");
    browser.wait("location.search === '?q=An+acid.'");
}

#[test]
fn reports_show_figures_in_their_size_and_fit_a_phone() {
    let name = "reports_show_figures_in_their_size_and_fit_a_phone";
    let Some(browser) = Browser::start(name) else { return };
    let sandbox = molecules();
    sandbox.succeed(&["evaluate", "molecules", "--report", "report"]);
    let page = format!("file://{}", sandbox.path("report/report.html").display());
    for scheme in ["light", "dark"] {
        let feature = json!({"name": "prefers-color-scheme", "value": scheme});
        let emulate =
            json!({"cmd": "Emulation.setEmulatedMedia", "params": {"features": [feature]}});
        browser.call("goog/cdp/execute", &emulate);
        browser.open(&page);
        let widths = browser.value(
            "[...document.querySelectorAll('figure svg')].map((figure) => figure.getBoundingClientRect().width)",
        );
        let widths = widths.as_array().unwrap();
        assert!(widths.len() >= 3, "{widths:?}");
        assert!(widths.iter().all(|width| width.as_f64().unwrap() >= 250.0), "{widths:?}");
        assert_eq!(browser.broken_rules(), Vec::<String>::new(), "{scheme}");
    }
    // a table that is wider than the screen moves by itself
    browser.narrow();
    browser.wait("document.querySelector('.wide').scrollWidth > 400");
    browser.wait("document.querySelector('figure svg').getBoundingClientRect().width >= 250");
}

#[test]
fn the_page_answers_tables_of_queries() {
    let Some(browser) = Browser::start("the_page_answers_tables_of_queries") else { return };
    let sandbox = molecules();
    let served = Served::start(&sandbox, &["molecules"]);
    browser.open(&format!("http://{}/", served.address));
    browser.wait("document.querySelectorAll('#examples button').length > 0");
    let choose = |content: &Value| {
        browser.value(&format!(
            "(() => {{ const data = new DataTransfer(); \
             data.items.add(new File({content}.map((part) => (typeof part === 'string' ? part : new Uint8Array(part))), 'many.csv')); \
             document.getElementById('table-file').files = data.files; \
             document.getElementById('table-file').dispatchEvent(new Event('change')); }})()"
        ));
    };
    let search = || {
        browser
            .value("(window.saved = undefined, document.getElementById('table-go').click(), null)");
        browser
            .wait("document.getElementById('table-progress').hidden && window.saved !== undefined");
        browser.value("window.saved").as_str().unwrap().to_owned()
    };
    // the file that a browser saves is not read
    browser.value(
        "(window.saveFile = (blob) => { blob.text().then((text) => { window.saved = text; }); }, null)",
    );
    browser.click("#table summary");
    choose(&json!([[0xe9, 10, 97, 10]]));
    browser.wait(
        "/many.csv: the file is not UTF-8/.test(document.getElementById('error').textContent)",
    );
    assert_eq!(browser.value("document.getElementById('table-go').disabled"), json!(true));

    // a first row without a known name is a query, unless the user says that it holds names
    choose(&json!(["An acid.\nA ring.\n"]));
    browser.wait("/: 2 queries, the first row .An acid.. among them/.test(document.getElementById('table-says').textContent)");
    browser.click("#table-names");
    browser.wait("/: 1 query[.]$/.test(document.getElementById('table-says').textContent)");
    // also where it is the only row
    choose(&json!(["An acid.\n"]));
    browser.wait("/: 1 query, the first row .An acid.. among them/.test(document.getElementById('table-says').textContent)");
    assert_eq!(browser.value("document.getElementById('table-go').disabled"), json!(false));
    choose(&json!(["description\n"]));
    browser.wait("/: no query, as its only row holds names/.test(document.getElementById('table-says').textContent)");
    assert_eq!(browser.value("document.getElementById('table-go').disabled"), json!(true));
    // a file that is refused leaves nothing of the one before
    choose(&json!([[0xe9, 10, 97, 10]]));
    browser.wait("/^Choose a CSV/.test(document.getElementById('table-says').textContent) && document.getElementById('table-names-choice').hidden");

    // what the form says holds for all rows, and an empty one has no candidate
    let texts = ["An acid.", "A ring with nitrogen."];
    choose(&json!([format!("text,n\n{},1\n,2\n{},3\n", texts[0], texts[1])]));
    browser.wait("!document.getElementById('table-go').disabled");
    browser.value("(document.getElementById('condition').value = 'mass < 150', null)");
    browser.value("(document.getElementById('table-top').value = '2', null)");
    let body = json!({"texts": texts, "top": 2, "filter": "mass < 150", "beyond": false});
    let answers = served.ask("/api/search", &body);
    let mut expected = Vec::new();
    for (answer, row) in answers["answers"].as_array().unwrap().iter().zip([1, 3]) {
        for hit in answer["hits"].as_array().unwrap() {
            expected.push(format!("{row},{},{}", hit["rank"], hit["id"].as_str().unwrap()));
        }
    }
    expected.insert(2, "2,,".to_owned());
    let found = search();
    let part = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        [cells[0], cells[2], cells[3]].join(",")
    };
    assert_eq!(found.lines().skip(1).map(part).collect::<Vec<_>>(), expected, "{found}");
    browser
        .wait("/^1 row has no candidates/.test(document.getElementById('table-says').textContent)");

    // what is doubtful of a row is said
    choose(&json!(["id,text\nr1,An acid.\nr2,日本\n"]));
    browser.wait("!document.getElementById('table-go').disabled");
    let doubtful = search();
    assert!(doubtful.starts_with("row,query_id,query,"), "{doubtful}");
    assert!(doubtful.contains("1,r1,An acid."), "{doubtful}");
    assert!(doubtful.lines().last().unwrap().contains("the model knows no part"), "{doubtful}");
    browser.wait("/1 row has a caution/.test(document.getElementById('table-says').textContent)");
    // a spreadsheet is no table
    choose(&json!([[0x50, 0x4b, 3, 4, 65]]));
    browser.wait("/many.csv: the file is none of .*: save it as CSV/.test(document.getElementById('error').textContent)");
    choose(&json!([format!("text,n\n{},1\n,2\n{},3\n", texts[0], texts[1])]));
    browser.wait("!document.getElementById('table-go').disabled");
    // a failure names its rows, and what was found before is saved
    browser.value("(state.limits.queries = 1, window.asked = 0, window.askServer = ask, null)");
    browser.value(
        "(window.ask = (...all) => (++window.asked === 2 ? Promise.reject(new Error('gone')) : askServer(...all)), null)",
    );
    let found = search();
    assert_eq!(found.lines().skip(1).map(part).collect::<Vec<_>>(), expected[..3], "{found}");
    browser.wait("/^rows 3 to 3: gone; the candidates of the rows before/.test(document.getElementById('error').textContent)");
    assert_eq!(browser.value("document.getElementById('table-go').disabled"), json!(false));
}

#[test]
fn the_page_shows_outputs_of_other_kinds() {
    let Some(browser) = Browser::start("the_page_shows_outputs_of_other_kinds") else { return };
    let sandbox = Sandbox::new();
    for name in ["graphs", "quantiles", "rankings"] {
        let config = format!("{}/configs/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        sandbox.succeed(&["train", &config, "--quiet"]);
    }
    sandbox.write("data/small/sets.arff", &golds::arff(0..48));
    sandbox.write("sets.toml", golds::SETS);
    sandbox.train("sets.toml", &[]);
    let runs = ["runs/graphs", "runs/quantiles", "runs/rankings", "runs/sets"];
    let served = Served::start(&sandbox, &runs);
    browser.open(&format!("http://{}/", served.address));
    for (run, shown) in [
        ("graphs", "document.querySelector('.card img').naturalWidth > 0"),
        (
            "quantiles",
            "/^Predicted: median [0-9.]+; between [0-9.]+ and [0-9.]+ with a probability of 80/\
                       .test(document.querySelector('.predicted').textContent)",
        ),
        ("quantiles", "document.querySelector('.quantiles .median').style.left.endsWith('%')"),
        (
            "rankings",
            "/best first: ([1-7], ){6}[1-7]$/.test(document.querySelector('.card .said').textContent)",
        ),
        ("sets", "document.querySelector('.card .chip').textContent.startsWith('label')"),
        ("sets", "document.querySelectorAll('#examples button')[2].textContent === '0:1 3:1'"),
    ] {
        browser.open(&format!("http://{}/?model={run}", served.address));
        browser.wait("document.querySelectorAll('#examples button').length > 0");
        browser.click("#examples button");
        browser.wait("document.querySelectorAll('.card').length > 0");
        browser.wait(shown);
        assert_eq!(browser.value("document.getElementById('error').hidden"), json!(true), "{run}");
        assert_eq!(
            browser.value("document.getElementById('filters').hidden"),
            json!(true),
            "{run}"
        );
        browser.narrow();
        browser.call(
            "goog/cdp/execute",
            &json!({"cmd": "Emulation.clearDeviceMetricsOverride", "params": {}}),
        );
    }
    // a model that is not served is not answered for in silence, and Enter that ends a composition of letters does not search
    browser.open(&format!("http://{}/?model=nosuch", served.address));
    browser.wait("/the model nosuch, which this server does not have/.test(document.getElementById('notice').textContent)");
    let enter = |composing: bool| {
        let event = format!(
            "new KeyboardEvent('keydown', {{ key: 'Enter', bubbles: true, isComposing: {composing} }})"
        );
        browser.value(&format!("(document.getElementById('query').dispatchEvent({event}), null)"));
    };
    browser.value("(document.getElementById('query').value = 'x', window.begun = 0, window.begin = () => { window.begun += 1; }, null)");
    enter(true);
    enter(false);
    assert_eq!(browser.value("window.begun"), json!(1));
    // what is no vector
    for (text, says) in [
        ("1 2 x", "\"x\" is none"),
        ("5:1", "columns are numbers from 0 to 4"),
        ("1 2", "width"),
        ("1 0:0.5 3:2", "the label of a line of libsvm is left out"),
        ("0:0.5:2", "0:0.5:2: beside column:number all must be such pairs"),
        ("0:0.5 0:2", "column 0 has a number already"),
    ] {
        browser.open(&format!("http://{}/?model=sets", served.address));
        browser.wait("document.querySelectorAll('#examples button').length > 0");
        browser.keys("#query", &format!("{text}{ENTER}"));
        browser.wait(&format!(
            "document.getElementById('error').textContent.includes({})",
            json!(says)
        ));
    }
}

#[test]
fn the_page_draws_spectra_and_marks_explained_peaks() {
    let Some(browser) = Browser::start("the_page_draws_spectra_and_marks_explained_peaks") else {
        return;
    };
    let sandbox = spectra::sandbox();
    sandbox.train("bins.toml", &[]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    let page = format!("http://{}/", served.address);
    browser.open(&page);
    browser.wait("document.querySelectorAll('#examples button').length > 0");
    // a list needs a precursor
    browser.keys("#query", &format!("45.0341 1, 31.0184 2{ENTER}"));
    browser.wait("/m.z of the precursor/.test(document.getElementById('error').textContent)");
    browser.keys("#precursor", "63.04406");
    browser.keys("#ion-formula", &format!("C2H6O2{ENTER}"));
    // candidates are those of the precursor's mass
    browser
        .wait("/ matches the precursor mass/.test(document.getElementById('summary').textContent)");
    browser.wait("document.querySelectorAll('#spectrum .peak').length > 2");
    // a filter is said of those
    browser.value("(document.getElementById('formula').value = 'C2H6O2', null)");
    browser.click("#form button.first");
    browser.wait(
        "/ matches the precursor mass; shown are those of them that pass the filters/\
                  .test(document.getElementById('summary').textContent)",
    );
    browser.value("(document.getElementById('formula').value = '', null)");
    // CH3O+ and C2H5O+ are 18 and 13 ppm away
    browser.value("(document.getElementById('ppm').value = '20', null)");
    browser.value("(document.getElementById('among').value = 'formula', null)");
    browser.click("#form button.first");
    browser.wait("document.querySelectorAll('.card').length === 1");
    browser.wait("document.querySelectorAll('#spectrum .explained').length === 2");
    browser.wait(
        "document.querySelector('.explains').textContent.startsWith('explains 2 of 2 peaks, 100')",
    );
    browser.wait(
        "document.querySelector('#spectrum .explained title').textContent.includes('CH3O (18.')",
    );
    // the largest peak that is a fragment is drawn, and another one when the list is walked through
    browser.wait("document.querySelectorAll('#spectrum .fragment').length > 0");
    browser.wait("/atoms=/.test(document.getElementById('fragment-image').src)");
    browser.click("#fragments summary");
    browser.click("#fragment-list li:last-child button");
    browser.wait("document.getElementById('fragment-says').textContent === document.querySelector('#fragment-list li:last-child').textContent");
    browser.wait(
        "location.search.includes('mz=63.04406') && location.search.includes('among=formula')",
    );
    // an entry of a file that is dropped, whose precursor is its own and not that of the spectrum before
    browser.value("(document.getElementById('precursor').value = '500', null)");
    let entry = "BEGIN IONS\\nPEPMASS=63.04406\\nFORMULA=C2H6O2\\n31.0184 2\\n\\n";
    browser.value(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File(['CHARGE=1+\\n{entry}{entry}'], 'two.mgf')); \
         document.getElementById('query').dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, cancelable: true }})); }})()"
    ));
    browser.wait("/2 spectra in two.mgf/.test(document.getElementById('notice').textContent)");
    browser.wait("document.getElementById('query').value.startsWith('CHARGE=1+')");
    browser.wait("document.querySelectorAll('#several option').length === 2");
    browser.wait("document.querySelectorAll('.card').length === 1");
    let precursor_is_empty = "document.getElementById('precursor').value === '' && document.getElementById('ion-formula').value === ''";
    browser.wait(precursor_is_empty);
    browser.wait("location.search.includes('PEPMASS') && !location.search.includes('mz=')");
    // so is that of each chosen one, and of an example
    let precursor_is_typed = "(document.getElementById('precursor').value = '500', null)";
    browser.value(precursor_is_typed);
    browser.value("(document.getElementById('several').value = '1', document.getElementById('several').dispatchEvent(new Event('change')), null)");
    browser.wait(precursor_is_empty);
    browser.value(precursor_is_typed);
    browser.value("(document.querySelector('#examples button').click(), null)");
    browser.wait(precursor_is_empty);
    // and the file is forgotten
    browser.wait("document.getElementById('notice').hidden");
    // pairs of numbers as JSON, among all candidates
    browser.click("#clear");
    browser.value("(document.getElementById('among').value = 'all', null)");
    browser.keys("#precursor", "63.04406");
    browser.keys("#query", &format!("[[45.0341, 1], [31.0184, 2]]{ENTER}"));
    browser.wait("document.querySelectorAll('.card').length === 20");
    browser.wait("document.querySelectorAll('#spectrum text.title').length === 2");
    browser.click("#zoom-in");
    browser.wait("!document.getElementById('zoom-out').disabled");
    assert_eq!(browser.broken_rules(), Vec::<String>::new());
    // labels of the precursor, of a peak beside it and of peaks that point down to the axis do not meet
    browser.value(
        "(drawn.query = readSpectrum('428.2279 428.2277:100 94.0651:50 82.1:100'), \
         drawn.nearest = readSpectrum('352.1 324.1805:100 300.1:1 82.1:100'), \
         drawn.hit = null, drawn.whole = [80, 440], zoom(80, 440), null)",
    );
    let meeting = "(() => { \
        const boxes = [...document.querySelectorAll('#spectrum-drawing text')].map((text) => text.getBoundingClientRect()); \
        const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 0.5 \
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5; \
        return boxes.flatMap((a, place) => boxes.slice(0, place).filter((b) => meet(a, b))).length; })()";
    assert_eq!(browser.value(meeting), json!(0));
    // the text below may have a long SMILES
    browser.value("(document.getElementById('spectrum-says').textContent = 'C'.repeat(200), null)");
    browser.narrow();
    // and on a phone they are as large
    browser.wait("12 * document.getElementById('spectrum-drawing').getScreenCTM().a >= 10");
    assert_eq!(browser.value(meeting), json!(0));
}

#[test]
fn the_page_answers_tables_of_spectra_as_the_form_says() {
    let name = "the_page_answers_tables_of_spectra_as_the_form_says";
    let Some(browser) = Browser::start(name) else { return };
    let sandbox = spectra::sandbox();
    sandbox.train("bins.toml", &[]);
    let served = Served::start(&sandbox, &["runs/bins"]);
    browser.open(&format!("http://{}/", served.address));
    browser.wait("document.querySelectorAll('#examples button').length > 0");
    // the bodies of requests, and the file that a browser saves
    browser.value(
        "(window.asked = [], window.askServer = ask, window.ask = (path, body, signal) => \
         (window.asked.push(body), askServer(path, body, signal)), null)",
    );
    browser.value(
        "(window.saveFile = (blob) => { blob.text().then((text) => { window.saved = text; }); }, null)",
    );
    let rows = "spectrum\\n63.04406 31.0184:1\\n999 31.0184:1\\nrubbish\\n31.0184:1\\n63.04406 45.0341:1\\n";
    let search = || {
        browser.value(&format!(
            "(() => {{ const data = new DataTransfer(); data.items.add(new File([\"{rows}\"], 'many.csv')); \
             document.getElementById('table-file').files = data.files; \
             document.getElementById('table-file').dispatchEvent(new Event('change')); }})()"
        ));
        browser.wait("!document.getElementById('table-go').disabled");
        browser.value("(window.asked = [], window.saved = undefined, document.getElementById('table-go').click(), null)");
        browser
            .wait("document.getElementById('table-progress').hidden && window.saved !== undefined");
        browser.value("window.saved").as_str().unwrap().to_owned()
    };
    let rows_with_candidates = |file: &str| -> Vec<String> {
        let has_hit = |line: &&str| line.split(',').nth(2).is_some_and(|rank| !rank.is_empty());
        let row = |line: &str| line.split(',').next().unwrap().to_owned();
        let mut rows: Vec<String> = file.lines().skip(1).filter(has_hit).map(row).collect();
        rows.dedup();
        rows
    };
    browser.click("#table summary");
    // a row that is none leaves the others their candidates
    let near = search();
    assert_eq!(rows_with_candidates(&near), ["1", "5"], "{near}");
    let says = "document.getElementById('table-says').textContent";
    browser.wait(&format!(
        "/^2 rows are refused: row 3: the spectrum = \"rubbish\".*; row 4: The m.z of the precursor is needed/.test({says})"
    ));
    // what the form says holds for all rows
    browser.value("(document.getElementById('among').value = 'all', null)");
    browser.value("(document.getElementById('ppm').value = '50', null)");
    browser.value("(document.getElementById('adduct').value = '[M+Na]+', null)");
    let all = search();
    assert_eq!(rows_with_candidates(&all), ["1", "2", "5"], "{all}");
    let body = browser.value("window.asked[0]");
    assert_eq!((&body["candidates"], &body["tolerance"]), (&json!("all"), &json!(50)));
    assert_eq!(body["texts"][0], json!("63.04406 adduct=[M+Na]+ 31.0184:1"));
    // where no server answers, what is shown stays
    browser.click("#examples button");
    browser.wait("document.querySelectorAll('.card').length > 0");
    browser.value("(window.fetch = () => Promise.reject(new TypeError('Failed to fetch')), null)");
    browser.click("#form button.first");
    browser
        .wait("/^The server does not answer/.test(document.getElementById('error').textContent)");
    assert_eq!(browser.value("document.querySelectorAll('.card').length > 0"), json!(true));
    // the error of a single query does not name it
    browser.open(&format!("http://{}/?q=rubbish", served.address));
    browser
        .wait("/^the spectrum = \"rubbish\"/.test(document.getElementById('error').textContent)");
}

#[test]
fn the_page_searches_beyond_the_candidates_and_draws_what_differs() {
    let name = "the_page_searches_beyond_the_candidates_and_draws_what_differs";
    let Some(browser) = Browser::start(name) else { return };
    let sandbox = beyond::trained();
    let served = Served::start(&sandbox, &["runs/molecules"]);
    browser.open(&format!("http://{}/", served.address));
    browser.wait("!document.getElementById('beyond-choice').hidden");
    browser.keys("#query", &format!("OCCCCC#N{ENTER}"));
    browser.wait("document.querySelectorAll('.card').length === 20");
    assert_eq!(browser.value("document.querySelectorAll('.card.exact').length"), json!(0));
    browser.click("#beyond");
    browser.wait("document.querySelectorAll('.card.exact').length === 20");
    browser.wait("document.querySelectorAll('.card:not(.exact)').length === 20");
    // bars are of candidates
    assert_eq!(browser.value("document.querySelectorAll('.card.exact .bar').length"), json!(0));
    assert_eq!(browser.value("document.querySelectorAll('.card .bar').length"), json!(20));
    browser
        .wait("document.querySelector('.card.exact .rank').textContent === 'Outside the library'");
    browser.wait("document.querySelector('.card.exact img').naturalWidth > 0");
    browser.wait(
        "decodeURIComponent(document.querySelector('.card.exact img').src).includes('class=\"differs\"')",
    );
    browser.wait("/nearest candidate is/.test(document.querySelector('.card.exact').textContent)");
    browser.wait("location.search.includes('beyond=true')");
    browser.narrow();
    // a search beyond them that fails leaves the candidates
    browser.value("(window.reached = window.ask, window.ask = (path, body, signal) => (body?.beyond ? Promise.reject(new Error('too long')) : window.reached(path, body, signal)), null)");
    browser.click("#form button.first");
    browser.wait("document.getElementById('error').textContent === 'too long'");
    assert_eq!(browser.value("document.querySelectorAll('.card').length"), json!(20));
    // the address holds the switch
    browser.call("refresh", &json!({}));
    browser.wait("document.querySelectorAll('.card.exact').length === 20");
    browser.click("#clear");
    browser.wait("!document.getElementById('beyond').checked");
}
