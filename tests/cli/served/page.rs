//! How the page reads tables and labels and writes cells, by its own code in Node.

use std::process::Command;

use serde_json::{Value, json};

/// The values of expressions over functions of the page, or the messages of their errors; none where there is no Node, of
/// which a line with the test tells. The page has the limits that the script states, and a model of rankings.
fn values(test: &str, expressions: &[&str]) -> Option<Vec<Value>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page");
    let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    let page = ["spectrum.js", "answers.js", "table.js"].map(read).join("\n");
    let script = format!(
        "const state = {{ limits: {{ queries: 3, allHits: 30, text: 10, bytes: 200 }}, model: {{ outputs: 'rankings', column: 'prompt', columns: ['price'] }} }};\n\
         const plural = (count, one, many) => `${{count}} ${{count === 1 ? one : many}}`;\n\
         const rounded = (value) => Number(value.toPrecision(4)).toLocaleString('en', {{ maximumFractionDigits: 12 }});\n\
         const exactPercent = (share) => `${{100 * share}} %`;\n\
         const fields = {{}};\n\
         const at = (id) => (fields[id] ??= {{ value: '' }});\n\
         const OUTPUTS = {{ molecules: ['molecule', 'molecules'] }};\n\
         const make = (name, attributes, ...parts) => parts.flat().join('');\n{page}\n\
         const outcome = (call) => {{ try {{ return call(); }} catch (error) {{ return error.message; }} }};\n\
         const readList = (list) => outcome(() => peakList(list, {{ precursor_mz: '150' }}));\n\
         const value = (text) => outcome(() => eval(text));\n\
         console.log(JSON.stringify({}.map(value)));",
        json!(expressions)
    );
    let node = Command::new("node").arg("-e").arg(script).output();
    let node = node.inspect_err(|_| eprintln!("skipped: {test}: node is not installed")).ok()?;
    assert!(node.status.success(), "{}", String::from_utf8_lossy(&node.stderr));
    serde_json::from_slice(&node.stdout).unwrap()
}

/// Compares expressions with their values.
fn check(test: &str, cases: &[(&str, Value)]) {
    let expressions: Vec<&str> = cases.iter().map(|(expression, _)| *expression).collect();
    let Some(found) = values(test, &expressions) else { return };
    for ((expression, expected), found) in cases.iter().zip(&found) {
        assert_eq!(found, expected, "{expression}");
    }
}

/// Drawings have black lines on white ground, which the page darkens by its ground, or turns.
#[test]
fn every_drawing_is_turned_in_dark_mode() {
    let css = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page/page.css");
    let css = std::fs::read_to_string(css).unwrap();
    let selectors = |blend: &str| -> Vec<String> {
        let rules = css.lines().filter(|line| line.contains(&format!("mix-blend-mode: {blend}")));
        let selectors = rules.map(|rule| rule.split_once('{').unwrap().0);
        selectors.flat_map(|all| all.split(',')).map(|one| one.trim().to_owned()).collect()
    };
    let turned = selectors("screen");
    let on_white = selectors("multiply");
    assert!(on_white.contains(&"#fragment img".to_owned()), "{on_white:?}");
    for selector in on_white {
        assert!(turned.contains(&selector), "{selector} is not in {turned:?}");
    }
}

#[test]
fn the_page_reads_tables_whole_or_refuses_them() {
    let cells = |rows: &[[&str; 2]]| json!({"names": ["text", "n"], "rows": rows});
    let unpaired = json!("row 1: a quotation mark without a partner");
    check(
        "the_page_reads_tables_whole_or_refuses_them",
        &[
            (
                r#"readTable("a.csv", '\ufefftext,n\r\n"a ""b"", c",1\r\n\r\n,\r\n')"#,
                cells(&[["a \"b\", c", "1"], ["", ""]]),
            ),
            (r#"readTable("a.csv", "text;n\na,b;1")"#, cells(&[["a,b", "1"]])),
            (
                r#"readTable("a.csv", "text,n\na,1\na, b,1")"#,
                json!("row 2 has 3 cells, of 2 columns"),
            ),
            (r#"readTable("a.csv", 'text,n\n"a,1\n')"#, unpaired.clone()),
            (r#"readTable("a.csv", 'text,n\n"a" b,1\n')"#, unpaired.clone()),
            // the only row may be a query
            (r#"readTable("a.csv", "An acid.\n")"#, json!({"names": ["An acid."], "rows": []})),
            (
                r#"["a.csv", "a.txt"].map((name) => outcome(() => readTable(name, "\n")))"#,
                json!([
                    "the file is empty: a row for each query is needed",
                    "the file is empty: a row for each query is needed"
                ]),
            ),
            (
                r#"countOfQueries([], true)"#,
                json!("no query, as its only row holds names of columns."),
            ),
            // between tabs quotation marks are what they are, unless all names have them
            (
                r#"readTable("a.tsv", 'text\tn\n"a\t1\n"b"\t2\n')"#,
                cells(&[["\"a", "1"], ["\"b\"", "2"]]),
            ),
            (r#"readTable("a.tsv", '"text"\t"n"\n"a"\t"1"\n')"#, cells(&[["a", "1"]])),
            // or a cell has doubled ones within, as pandas writes it
            (
                r#"readTable("a.tsv", 'text\tn\n"[""a"", ""b""]"\t"I ""b" a""\n')"#,
                cells(&[["[\"a\", \"b\"]", "\"I \"\"b\" a\"\""]]),
            ),
            (r#"readTable("a.tsv", '"text"\t"n"\n"a \\"b"\t"1"\n')"#, unpaired),
        ],
    );
}

#[test]
fn the_page_takes_a_first_row_for_names_where_one_is_known() {
    check(
        "the_page_takes_a_first_row_for_names_where_one_is_known",
        &[
            (
                r#"[["text", "n"], ["Prompt"], ["n", " SMILES"], ["price", "x"], ["An acid."], ["An acid.", "7"]].map((names) => hasNames({ names, rows: [] }))"#,
                json!([true, true, true, true, false, false]),
            ),
            // a word of a short name is known, as is none of a query
            (
                r#"[["question"], ["n", "Compound description"], ["query_text"], ["The name of an acid"], ["An ester"]].map((names) => hasNames({ names, rows: [["An acid."]] }))"#,
                json!([true, true, true, false, false]),
            ),
            // names in other languages are several times shorter than the queries
            (
                r#"["An acid.", "An acid with a benzene ring"].map((query) => hasNames({ names: ["frage", "nr"], rows: [[query, "1"]] }))"#,
                json!([false, true]),
            ),
            (
                r#"withoutNames({ names: ["An acid.", "7"], rows: [["A ring.", "8"]] })"#,
                json!({"names": ["column 1", "column 2"], "rows": [["An acid.", "7"], ["A ring.", "8"]]}),
            ),
            // the model's own column comes first
            (
                r#"[["text", "prompt"], ["id", "text"], ["a", "b"]].map((names) => queryColumn({ names, rows: [["x", "longer"]] }))"#,
                json!([1, 1, 1]),
            ),
        ],
    );
}

#[test]
fn the_page_asks_within_limits_and_writes_cells_that_are_no_formulas() {
    check(
        "the_page_asks_within_limits_and_writes_cells_that_are_no_formulas",
        &[
            // neither an empty text nor one of eleven letters is asked for
            (
                r#"batchesOf(["a", "", "b", "cc", "d", "12345678901", "ééééé", "ee", "f"], 3, 15)"#,
                json!([[0, 2, 3], [4], [6], [7, 8]]),
            ),
            (
                r#"["=1+1", "+a", "@a", "-", "\ta", "-5", "-2e3", -0.5, "a,b", 'a"b', ""].map(csvCell)"#,
                json!([
                    "'=1+1",
                    "'+a",
                    "'@a",
                    "'-",
                    "'\ta",
                    "-5",
                    "-2e3",
                    "-0.5",
                    "\"a,b\"",
                    "\"a\"\"b\"",
                    ""
                ]),
            ),
            (
                r#"hitsTable(["a", ""], null, [{ hits: [{ rank: 2, id: "x", label: "l", score: 0.5, tied: 2, duplicates: ["y", "z"], columns: { n: "3" } }] }, { hits: [] }], ["n"])"#,
                json!(
                    "row,query,rank,id,label,score,tied,duplicates,n,caution\n1,a,2,x,l,0.5,2,y z,3,\n2,,,,,,,,,\n"
                ),
            ),
            // what is doubtful of a query stands in each of its lines, and the id of its row
            (
                r#"hitsTable(["zzz"], ["r7"], [{ hits: [{ rank: 1, id: "x", label: "l", score: 0.5, tied: 0, duplicates: [] }], cautions: ["no part, or", "b"] }], [])"#,
                json!(
                    "row,query_id,query,rank,id,label,score,tied,duplicates,caution\n1,r7,zzz,1,x,l,0.5,0,,\"no part, or; b\"\n"
                ),
            ),
            // predicted numbers
            (
                r#"["0.13659827 12345.678", "0,5"].map(predictedNumbers)"#,
                json!(["0.1366; 12,350", "0,5"]),
            ),
        ],
    );
}

#[test]
fn the_page_orders_items_of_ranks_alone() {
    check(
        "the_page_orders_items_of_ranks_alone",
        &[
            (
                r#"["2 1 3", "[3, 1, 2]", "10 2"].map(orderOf)"#,
                json!(["2, 1, 3", "2, 3, 1", "2, 1"]),
            ),
            // items may be left out, and tie
            (r#"["2 - 1", "1 2 1"].map(orderOf)"#, json!(["3, 1", "1 = 3, 2"])),
            (
                r#"["apple>pear>fig", "", "0 1", "1.5 2"].map(orderOf)"#,
                json!([null, null, null, null]),
            ),
        ],
    );
}

#[test]
fn the_page_divides_sets_of_labels_as_the_program_does() {
    check(
        "the_page_divides_sets_of_labels_as_the_program_does",
        &[
            (
                r#"["base  acid", '["base", "carbon; organic"]', "", "[]"].map(labelsOf)"#,
                json!([["base", "acid"], ["base", "carbon; organic"], [], []]),
            ),
            (r#"labelsOf("7")"#, json!(["7"])),
        ],
    );
}

#[test]
fn the_page_says_that_candidates_match_a_rule_only_where_it_left_out_others() {
    let answer = |competing: &str| {
        format!(
            "(state.model = {{ inputs: 'spectra', outputs: 'molecules' }}, at('among').value = 'mass', \
             summary({{ candidates: 84, wanted: 84 }}, {{ hits: [1], competing: {competing} }}))"
        )
    };
    let [some, one, all] = ["3", "1", "84"].map(answer);
    check(
        "the_page_says_that_candidates_match_a_rule_only_where_it_left_out_others",
        &[
            (some.as_str(), json!("3 of 84 molecules match the precursor mass")),
            (one.as_str(), json!("1 of 84 molecules matches the precursor mass")),
            // as for an adduct that is not known
            (all.as_str(), json!("84 molecules")),
        ],
    );
}

#[test]
fn the_page_names_each_of_two_nearest_inputs_of_one_molecule() {
    let shared = r#"{ id: "M1", groups: [], rings: ["benzene"], similarity: 0.5 }"#;
    let call = format!(
        "sharedParts({{ shared: [{shared}, {shared}] }}, {{ spectrum: '63 31:1', nearest: [{{ id: 'M1' }}, {{ id: 'M2' }}, {{ id: 'M1' }}] }})"
    );
    let line = |place| format!("with training spectrum {place}: benzene (Tanimoto 0.50)");
    let expected = format!("Shared with training molecules{}{}", line(1), line(3));
    check(
        "the_page_names_each_of_two_nearest_inputs_of_one_molecule",
        &[(call.as_str(), json!(expected))],
    );
}

#[test]
fn the_page_doubts_an_order_only_where_words_alone_are_read() {
    check(
        "the_page_doubts_an_order_only_where_words_alone_are_read",
        &[
            (
                r#"doubt({ words: { known: 0, unknown: ["zz"], alone: true } })"#,
                json!({"nothing": true, "line": "No training text has any of these words: the order below means nothing."}),
            ),
            (
                r#"doubt({ words: { known: 0, unknown: ["zz"], alone: false } })"#,
                json!({"nothing": false, "line": "0 of 1 word occur in training texts; not “zz”."}),
            ),
            // as of "?"
            (
                r#"doubt({ words: { known: 0, unknown: [], alone: true } })"#,
                json!({"nothing": true, "line": "The query has no word of a training text: the order below means nothing."}),
            ),
            (r#"doubt({ words: { known: 0, unknown: [], alone: false } })"#, json!(null)),
            (r#"doubt({ words: { known: 1, unknown: [], alone: true } })"#, json!(null)),
            (r#"doubt({})"#, json!(null)),
            // where all candidates have the score of nothing, one line says so
            (
                r#"(state.skip = 0, sure({ words: { known: 0, unknown: ["zz"], alone: true }, hits: [{ rank: 1, tied: 9, duplicates: [] }] }, true))"#,
                json!(["No training text has any of these words: the order below means nothing."]),
            ),
            // of a list too
            (
                r#"(state.skip = 0, sure({ hits: [{ rank: 1, tied: 9, duplicates: [] }] }, false))"#,
                json!(["10 candidates share the first score: their order means nothing."]),
            ),
            (
                r#"holding({ coverage: 0.5, on: "validation", queries: 20 }, { hits: [1, 2], whole: true, cautions: ["a doubt"] })"#,
                json!(
                    "2 candidates; the 50 % confidence of lists, measured on 20 queries (validation), says little of this query"
                ),
            ),
            (
                r#"holding({ coverage: 0.5, on: "validation", queries: 1 }, { hits: [1, 2], whole: true, cautions: ["a doubt"] })"#,
                json!(
                    "2 candidates; the 50 % confidence of lists, measured on 1 query (validation), says little of this query"
                ),
            ),
        ],
    );
}

#[test]
fn the_page_reads_spectra_of_json_and_lists_with_names_of_columns() {
    let entry = "precursor_mz: 150\nNum Peaks: 2\n49.0076 120\n50.0142 99.5";
    check(
        "the_page_reads_spectra_of_json_and_lists_with_names_of_columns",
        &[
            // lists as MassSpecGym has them, as texts
            (
                r#"spectraOf('{"mzs": "49.0076,50.0142", "intensities": "120,99.5", "precursor_mz": 150}')"#,
                json!([entry]),
            ),
            (
                r#"spectraOf('[{"mzs": [49.0076, 50.0142], "intensities": [120, 99.5], "precursor_mz": 150}]')"#,
                json!([entry]),
            ),
            (
                r#"spectraOf('{"peaks": [{"mz": 49.0076, "intensity": 120}, [50.0142, 99.5]], "precursor_mz": 150}')"#,
                json!([entry]),
            ),
            // ion mode and charge, which say the adduct, as matchms and GNPS write them
            (
                r#"spectraOf('{"precursor_mz": 179.0561, "ionmode": "negative", "charge": -1, "num_peaks": 9, "known": true, "peaks_json": [[59.0139, 10]]}')"#,
                json!([
                    "precursor_mz: 179.0561\nionmode: negative\ncharge: -1\nNum Peaks: 1\n59.0139 10"
                ]),
            ),
            (
                r#"spectraOf('{"Compound_Name": "a\\nb", "Precursor_MZ": "179.0561", "Ion_Mode": "Negative", "Adduct": "", "peaks_json": "[[59.0139, 10]]"}')"#,
                json!([
                    "compound_name: a b\nprecursor_mz: 179.0561\nion_mode: Negative\nNum Peaks: 1\n59.0139 10"
                ]),
            ),
            // MoNA lists them by name
            (
                r#"spectraOf('{"id": "MoNA_1", "metaData": [{"name": "ionization mode", "value": "negative"}, {"name": "precursor m/z", "value": 179.0561}, {"name": "precursor type", "value": "[M-H]-"}, null], "spectrum": "59.0139:10 89.0244:20"}')"#,
                json!([
                    "id: MoNA_1\nionization mode: negative\nprecursor m/z: 179.0561\nprecursor type: [M-H]-\nNum Peaks: 2\n59.0139 10\n89.0244 20"
                ]),
            ),
            // annotations may be missing
            // as a list with the intensity
            (
                r#"spectraOf('[{"pepmass": [301.07, null], "peaks_json": [[50, 1]]}, {"Precursor_MZ": [302], "peaks": [[50, 1]]}]')"#,
                json!([
                    "pepmass: 301.07\nNum Peaks: 1\n50 1",
                    "precursor_mz: 302\nNum Peaks: 1\n50 1"
                ]),
            ),
            // of GNPS, MassSpecGym and MoNA, in the list of several
            (
                r#"spectraOf('[{"identifier": "X1", "Compound_Name": "Mellein", "Precursor_MZ": "179.0", "peaks": [[50, 1]]}, {"identifier": "MassSpecGymID1", "precursor_mz": 288.1, "mzs": "50", "intensities": "1"}, {"id": "x", "metaData": [{"name": "precursor m/z", "value": 179.05}], "spectrum": "50:1"}]').map(nameOf)"#,
                json!([
                    "1: Mellein (m/z 179.0)",
                    "2: MassSpecGymID1 (m/z 288.1)",
                    "3: without a name (m/z 179.05)"
                ]),
            ),
            (
                r#"["BEGIN IONS\nTITLE=a\nPEPMASS=150.5 7", "ACCESSION: x\nCH$NAME: b\nMS$FOCUSED_ION: PRECURSOR_M/Z 63.04"].map(nameOf)"#,
                json!(["1: a (m/z 150.5)", "2: b (m/z 63.04)"]),
            ),
            (
                r#"spectraOf('{"peaks": [[49.0076, 120, null], [50.0142, 99.5, "x"]], "precursor_mz": 150}')"#,
                json!([entry]),
            ),
            (
                r#"spectraOf('[[49.0076, 120, null], [50.0142, 99.5, "x"]]')"#,
                json!(["49.0076 120\n50.0142 99.5"]),
            ),
            (
                r#"spectraOf('{"peaks": [[49.1, 50.1, 51.1], [1, 3, 2]]}')"#,
                json!(["Num Peaks: 3\n49.1 1\n50.1 3\n51.1 2"]),
            ),
            (
                r#"spectraOf('{"peaks": 2, "Peaks_json": [[49.1, 1], [50.1, 3]]}')"#,
                json!(["Num Peaks: 2\n49.1 1\n50.1 3"]),
            ),
            (
                r#"outcome(() => spectraOf('{"peaks": [[1, 3, 2], [49.1, 50.1, 51.1]]}')).slice(0, 38)"#,
                json!("The peaks of the JSON are two lists, o"),
            ),
            (
                r#"spectraOf('{"peaks": [[49.0076, null, 1]]}')"#,
                json!("The peaks of the JSON must be pairs of m/z and intensity"),
            ),
            (
                r#"spectraOf('[null]')"#,
                json!(
                    "The JSON must be a spectrum, a list of spectra, or a list of pairs of m/z and intensity"
                ),
            ),
            (
                r#"spectraOf('{"peaks": [null]}')"#,
                json!("The peaks of the JSON must be pairs of m/z and intensity"),
            ),
            (
                r#"spectraOf('{"mz": [49.0076, 50.0142]}')"#,
                json!("The JSON has 2 m/z and no intensities: as many of both are needed"),
            ),
            (
                r#"["m/z\tintensity\n49.0076\t120", "mz,intensity\n49.0076,120", "BEGIN IONS\nPEPMASS=150\n49.0076 120\nEND IONS"].map((text) => spectraOf(text)[0])"#,
                json!([
                    "49.0076\t120",
                    "49.0076,120",
                    "BEGIN IONS\nPEPMASS=150\n49.0076 120\nEND IONS"
                ]),
            ),
            // a line that says something is no heading
            (
                r#"["Precursor_type: [M+Na]+", "adduct=[M+Na]+", "[M+Na]+"].map((line) => spectraOf(`${line}\n49.0076 120\n`)[0])"#,
                json!([
                    "Precursor_type: [M+Na]+\n49.0076 120",
                    "adduct=[M+Na]+\n49.0076 120",
                    "[M+Na]+\n49.0076 120"
                ]),
            ),
        ],
    );
}

#[test]
fn the_page_leaves_out_spectra_of_other_levels() {
    // MZmine writes the precursor's own spectrum before each tandem spectrum
    let entry = |level: &str, feature: u8| {
        format!("BEGIN IONS\\nFEATURE_ID={feature}\\n{level}\\nPEPMASS=5\\n1 2\\nEND IONS\\n")
    };
    let [one, two, none] = [("MSLEVEL=1", 7), ("MSLEVEL=2", 8), ("CHARGE=1+", 9)]
        .map(|(level, feature)| entry(level, feature));
    let named = |text: &str| format!("spectraOf(\"{text}\").map(nameOf)");
    let [mixed, alone] = [named(&[&*one, &two, &none].concat()), named(&one)];
    // the last one of a file that is not read to its end may be cut
    let cut = format!("firstSpectra(\"{two}{one}BEGIN IONS\\n\").map(nameOf)");
    check(
        "the_page_leaves_out_spectra_of_other_levels",
        &[
            (mixed.as_str(), json!(["1: 8 (m/z 5)", "2: 9 (m/z 5)"])),
            (alone.as_str(), json!(["1: 7 (m/z 5)"])),
            (cut.as_str(), json!(["1: 8 (m/z 5)"])),
            (
                r#"spectraOf('[{"ms_level": 1, "peaks": [[1, 2]]}, {"ms_level": 2, "peaks": [[3, 4]]}]').length"#,
                json!(1),
            ),
            (
                r#"["ms_level: 2.0", "Spectrum_type: MS2", "MS_LEVEL=MS/MS", "AC$MASS_SPECTROMETRY: MS_TYPE MS2", "ms_level: N/A", "MSLEVEL=1", "AC$MASS_SPECTROMETRY: MS_TYPE MS", "Spectrum_type: MS1", "ms level: 3"].map(isOtherLevel)"#,
                json!([false, false, false, false, false, true, true, true, true]),
            ),
            (
                r#"["<?xml?>\n<mzXML>", "<mzML><spectrum id='1'></spectrum><spectrum id='2'></spectrum></mzML>"].map((text) => outcome(() => spectraOf(text)).slice(0, 32))"#,
                json!(["The file is mzXML, which is not ", "The mzML has several spectra, an"]),
            ),
        ],
    );
}

#[test]
fn the_page_searches_the_spectra_of_a_table_as_the_form_says() {
    let form = "(state.model = { inputs: 'spectra' }, at('precursor').value = '500', at('ion-formula').value = 'C2', \
                at('adduct').value = '[M + Na]+'";
    let cells = r#"["63.04 31.01:2 45:1", "", "31 2\n45 1"]"#;
    let queries = format!("{form}, refused = new Map(), queriesOf({cells}, refused))");
    check(
        "the_page_searches_the_spectra_of_a_table_as_the_form_says",
        &[
            (queries.as_str(), json!(["63.04 adduct=[M+Na]+ 31.01:2 45:1", "", ""])),
            (
                "[...refused]",
                json!([[
                    2,
                    "The m/z of the precursor is needed: a list of peaks does not have it"
                ]]),
            ),
            (
                "refusals(new Map([[4, 'd'], [0, 'a'], [1, 'b'], [2, 'c']]))",
                json!("4 rows are refused: row 1: a; row 2: b; row 3: c; …"),
            ),
            // an adduct of a row counts
            (
                r#"queriesOf(["63.04 adduct=[M+H]+ 45:1", "BEGIN IONS\nPEPMASS=5\nADDUCT=[M+H]+\n1 2\nEND IONS", "NAME: a\nPRECURSORTYPE: [M+H]+\nNum Peaks: 1\n1 2"], refused)"#,
                json!([
                    "63.04 adduct=[M+H]+ 45:1",
                    "BEGIN IONS\nPEPMASS=5\nADDUCT=[M+H]+\nion_type=[M+Na]+\n1 2\nEND IONS",
                    "NAME: a\nPRECURSORTYPE: [M+H]+\nion_type: [M+Na]+\nNum Peaks: 1\n1 2"
                ]),
            ),
            // the text of a query that is not a spectrum is its cell
            (
                "(state.model = { inputs: 'texts' }, queriesOf(['An acid.'], new Map()))",
                json!(["An acid."]),
            ),
        ],
    );
}

#[test]
fn the_page_reads_no_list_of_peaks_wrongly() {
    let says =
        "The list must have m/z and intensity of one peak a line; further columns are left out";
    let commas =
        "The numbers of the list have commas: write decimal points, and blanks between the numbers";
    let header = "CHARGE=1-\\n# a\\n\\nBEGIN IONS\\nPEPMASS=5\\n1 2\\nEND IONS\\n\\nBEGIN IONS\\nPEPMASS=6\\n1 2";
    let spectra = format!("spectraOf(\"{header}\")");
    check(
        "the_page_reads_no_list_of_peaks_wrongly",
        &[
            (
                r#"peakList("100.1 500 99\n120.1 300 50\n130 20 4", { precursor_mz: "150" })"#,
                json!("150 100.1:500 120.1:300 130:20"),
            ),
            // two lists, or two peaks with a column more
            (r#"peakList("100.1 101 102\n20 30 40", { precursor_mz: "150" })"#, json!(says)),
            (r#"peakList("100,1 500\n120,1 300", { precursor_mz: "150" })"#, json!(commas)),
            (
                r#"["49,0076;120,5\n50,0142;99,5", "49,0076;120\n50,0142;99", "49,0076;1.234,5", "49,0076\n50,0142", "49,0076:120"].map(readList)"#,
                json!([commas, commas, commas, commas, commas]),
            ),
            (
                r#"["49,0076\n50,0142\n91,0542", "49,1076\n50,1142", "49,120\t50,99"].map(readList)"#,
                json!([commas, commas, commas]),
            ),
            // with a column more
            (
                r#"["85,0284,10\n127,0390,5", "85,1284,10\n127,1390,5", "85,0284,10,0", "85,128,10\n99,290,8"].map(readList)"#,
                json!([commas, commas, commas, commas]),
            ),
            // one number a line would be no peak
            (
                r#"["49,120\n91,999", "m/z,intensity\n49,120\n91,0", "91,999"].map((text) => outcome(() => readList(spectraOf(text)[0])))"#,
                json!(["150 49:120 91:999", "150 49:120 91:0", "150 91:999"]),
            ),
            // what no decimal comma can be
            (
                r#"["49.0076,120\n50,99", "49,120,1\n50,99,2", "49,1200,50,9900", "49, 120\n50, 99", "49:120,50:99"].map(readList)"#,
                json!([
                    "150 49.0076:120 50:99",
                    "150 49:120 50:99",
                    "150 49:1200 50:9900",
                    "150 49:120 50:99",
                    "150 49:120 50:99"
                ]),
            ),
            (r#"readList(withoutBrackets("(49,120);(50,99)"))"#, json!("150 49:120 50:99")),
            (
                r#"peakList("100.1 500 120.1 300", { precursor_mz: "150" })"#,
                json!("150 100.1:500 120.1:300"),
            ),
            // two columns more, or two peaks
            (r#"peakList("100 5 110 3\n120 4 130 2", { precursor_mz: "150" })"#, json!(says)),
            (r#"peakList("100 5\n120 4 130", { precursor_mz: "150" })"#, json!(says)),
            // a list does not say what its precursor is
            (
                r#"["63.04 31:2", "63.04 adduct=[M+H]+ 31:2", "31:2", "31 2\n45 1", "[[31, 2]]"].map(namesPrecursor)"#,
                json!([true, true, false, false, false]),
            ),
            // nor do files that have peaks and other fields
            (
                r#"["PEPMASS=63.04", "Precursor_MZ: 63.04", "PrecursorMZ 63", "MS$FOCUSED_ION: PRECURSOR_M/Z 63.04", 'Comment: Spec=a Parent=63.04'].map((line) => namesPrecursor(`NAME: a\n${line}`))"#,
                json!([true, true, true, true, true]),
            ),
            (
                r#"["NAME: a", "PEPMASS=0", "Precursor_type: [M+H]+", "Parent_compound: 5"].map(namesPrecursor)"#,
                json!([false, false, false, false]),
            ),
            // what is typed before any spectrum is about the first
            (
                r#"["", "63.04 31:2"].map((before) => (at("query").value = before, at("adduct").value = "[M+Na]+", leavePrecursor("63.04 31:2"), at("adduct").value))"#,
                json!(["[M+Na]+", ""]),
            ),
            // what precedes all spectra of a file is about each
            (
                spectra.as_str(),
                json!([
                    "CHARGE=1-\nBEGIN IONS\nPEPMASS=5\n1 2\nEND IONS",
                    "CHARGE=1-\nBEGIN IONS\nPEPMASS=6\n1 2\nEND IONS"
                ]),
            ),
            // a file that is not read to its end loses what may be cut
            (
                r#"firstSpectra("BEGIN IONS\nPEPMASS=5\n1 2\nEND IONS\nBEGIN IONS\nPEP").length"#,
                json!(1),
            ),
            (
                r#"firstSpectra("BEGIN IONS\nPEPMASS=5\n1 2")"#,
                json!("The file has more than 16 MiB, and no whole spectrum in the first of them"),
            ),
        ],
    );
}
