//! Tables that are refused, and with which words.

use super::{Folder, Table};

#[test]
fn bad_tables_are_refused_with_place_and_value() {
    let gzip: &[u8] = b"\x1f\x8b\x08\x00";
    let cases: &[(&str, &[u8], &str)] = &[
        ("a.tsv", b"", "a.tsv: the file is empty; at least one row is needed"),
        ("a.csv", b"", "a.csv: the file is empty; at least one row is needed"),
        ("a.jsonl", b"\n\n", "a.jsonl: the file is empty; at least one row is needed"),
        ("a.tsv", b"\xef\xbb\xbf", "a.tsv: the file is empty; at least one row is needed"),
        (
            "a.tsv",
            b"id\ttext\n",
            "a.tsv: zero rows after the header (columns: \"id\", \"text\"); at least one is needed",
        ),
        (
            "a.csv",
            b"id,text\r\n\r\n",
            "a.csv: zero rows after the header (columns: \"id\", \"text\"); at least one is needed",
        ),
        ("a.tsv", b"cid\ttext\n1\ta\n", "a.tsv: no column \"id\"; the file has: \"cid\", \"text\""),
        (
            "a.csv",
            b"id, name,text \n1,2,a\n",
            "a.csv: no column \"text\"; the file has: \"id\", \" name\", \"text \"",
        ),
        (
            "a.tsv",
            b"id\ttext\tid\n1\ta\t2\n",
            "a.tsv:1: \"id\" names both column 1 and column 3; names must be distinct",
        ),
        (
            "a.csv",
            b"text,id,text\n1,a,2\n",
            "a.csv:1: \"text\" names both column 1 and column 3; names must be distinct",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n{\"id\":1,\"text\":\"a\",\"id\":2}\n",
            "a.jsonl:2: \"id\" names both column 1 and column 3; names must be distinct",
        ),
        ("a.tsv", b"id\ttext\n1\ta\n2\n", "a.tsv:3: 1 fields; expected 2 (\"id\", \"text\")"),
        ("a.tsv", b"id\ttext\n1\ta\tb\n", "a.tsv:2: 3 fields; expected 2 (\"id\", \"text\")"),
        (
            "a.tsv",
            b"id\ttext\n1\ta\n2\t\"first line\nsecond line\"\n",
            "a.tsv:4: 1 fields; expected 2 (\"id\", \"text\"); a field that begins with a quotation mark goes on in the next line: fields of .tsv files are not quoted unless the names of the columns are, so save the table as .csv, or quote the names too",
        ),
        (
            "a.csv",
            b"id,text\n1,\"a\nb\"\n2,c,d\n",
            "a.csv:4: 3 fields; expected 2 (\"id\", \"text\")",
        ),
        (
            "a.csv",
            b"id,text\n1,a\n\"id\",text\n2,b\n",
            "a.csv:3: the names of the columns again, as where one file was put behind another; remove the line",
        ),
        (
            "a.tsv",
            b"id\ttext\n1\ta\n\n\n2\tb\n",
            "a.tsv:3: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.tsv",
            b"\nid\ttext\n1\ta\n",
            "a.tsv:1: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"id,text\n1,a\n\n2,b\n",
            "a.csv:3: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"id,text\r\n1,a\r\n\r\n2,b\r\n",
            "a.csv:3: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"\nid,text\n1,a\n",
            "a.csv:1: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n\n{\"id\":2,\"text\":\"a\"}\n",
            "a.jsonl:2: blank line inside the table; blank lines are allowed only at the end",
        ),
        (
            "a.csv",
            b"id,text\n1,\"a\n2,b\n",
            "a.csv:2: the record that starts here has a quotation mark without a partner (\"1,\\\"a\\n2,b\"); quote a field on both sides and double the marks inside it (RFC 4180)",
        ),
        (
            "a.csv",
            b"id,text\r1,a\r2,b\r",
            "a.csv:1: a carriage return without a line feed ends the lines, as programs of old Macs write them; convert it: tr '\\r' '\\n' < a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"id,text\r\n1,\"a\r\"\r\n2,b\r\r\n",
            "a.csv:3: a carriage return without a line feed; lines end with \\n or \\r\\n, and a field with either in it is quoted (RFC 4180)",
        ),
        (
            "a.tsv",
            b"id\ttext\n1\ta\xff\n",
            "a.tsv:2: byte 0xff at position 4 of the line is not UTF-8; tables must be UTF-8 text; if it is WINDOWS-1252, as some programs write it (GB18030 of Chinese, SHIFT_JIS of Japanese), convert it: iconv -f WINDOWS-1252 -t UTF-8 a.tsv > new-a.tsv",
        ),
        (
            "a.csv",
            b"id,text\n1,a\n2,\xe9\n",
            "a.csv:3: byte 0xe9 at position 3 of the line is not UTF-8; tables must be UTF-8 text; if it is WINDOWS-1252, as some programs write it (GB18030 of Chinese, SHIFT_JIS of Japanese), convert it: iconv -f WINDOWS-1252 -t UTF-8 a.csv > new-a.csv",
        ),
        (
            "my a.csv",
            b"id,text\n1,\xe9\n",
            "my a.csv:2: byte 0xe9 at position 3 of the line is not UTF-8; tables must be UTF-8 text; if it is WINDOWS-1252, as some programs write it (GB18030 of Chinese, SHIFT_JIS of Japanese), convert it: iconv -f WINDOWS-1252 -t UTF-8 'my a.csv' > 'new-my a.csv'",
        ),
        (
            "my a.csv",
            b"id,text\r1,a\r",
            "my a.csv:1: a carriage return without a line feed ends the lines, as programs of old Macs write them; convert it: tr '\\r' '\\n' < 'my a.csv' > 'new-my a.csv'",
        ),
        (
            "a&b.csv",
            b"\xfd7zXZ\0",
            "a&b.csv: the contents are compressed (xz), and the name does not say so: decompress the file: xz -dc 'a&b.csv' > 'new-a&b.csv'",
        ),
        (
            "a.csv",
            b"\xff\xfei\0d\0",
            "a.csv:1: byte 0xff at position 1 of the line is not UTF-8; tables must be UTF-8 text; if it is UTF-16, as some programs write it, convert it: iconv -f UTF-16 -t UTF-8 a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"i\0d\0,\0t\0\n\0x\0,\0a\0\n\0",
            "a.csv:1: bytes of the line are 0, as in UTF-16LE; tables must be UTF-8 text; convert it: iconv -f UTF-16LE -t UTF-8 a.csv > new-a.csv",
        ),
        (
            "a.jsonl",
            b"\0{\0\"\0t\0\"\0:\0\"\0a\0\"\0}\0\n",
            "a.jsonl:1: bytes of the line are 0, as in UTF-16BE; tables must be UTF-8 text; convert it: iconv -f UTF-16BE -t UTF-8 a.jsonl > new-a.jsonl",
        ),
        (
            "a.csv",
            b"i\0\0\0d\0\0\0,\0\0\0t\0\0\0\n\0\0\0",
            "a.csv:1: bytes of the line are 0, as in UTF-32LE; tables must be UTF-8 text; convert it: iconv -f UTF-32LE -t UTF-8 a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"\xff\xfe\0\0i\0\0\0d\0\0\0",
            "a.csv:1: byte 0xff at position 1 of the line is not UTF-8; tables must be UTF-8 text; if it is UTF-32, as some programs write it, convert it: iconv -f UTF-32 -t UTF-8 a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"\x8b\xba,\0\xc5\x60\n\0",
            "a.csv:1: byte 0x8b at position 1 of the line is not UTF-8; tables must be UTF-8 text; if it is UTF-16LE, as some programs write it, convert it: iconv -f UTF-16LE -t UTF-8 a.csv > new-a.csv",
        ),
        (
            "a.tsv",
            gzip,
            "a.tsv: the contents are compressed (gzip), and the name does not say so: let it end with .gz",
        ),
        (
            "a.jsonl",
            gzip,
            "a.jsonl: the contents are compressed (gzip), and the name does not say so: let it end with .gz",
        ),
        (
            "a.csv",
            b"BZh91AY&SY\0\r\r",
            "a.csv: the contents are compressed (bzip2), and the name does not say so: decompress the file: bzip2 -dc a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"\xfd7zXZ\0",
            "a.csv: the contents are compressed (xz), and the name does not say so: decompress the file: xz -dc a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"\x28\xb5\x2f\xfd",
            "a.csv: the contents are compressed (zstd), and the name does not say so: decompress the file: zstd -dc a.csv > new-a.csv",
        ),
        (
            "a.csv",
            b"PK\x03\x04\x14\0",
            "a.csv: the contents are compressed (zip, as workbooks of Excel are), and the name does not say so: save a workbook as .csv, or decompress the file: unzip -p a.csv > new-a.csv",
        ),
        ("a.csv", b"BZh,x\n1,2\n", "a.csv: no column \"id\"; the file has: \"BZh\", \"x\""),
        ("a.tsv.gz", b"id\n", "a.tsv.gz: cannot be read: unexpected end of file"),
        (
            "a.tsv.xz",
            b"",
            "a.tsv.xz: compressed files (\"xz\") are not read; decompress it first: xz -dc a.tsv.xz > new-a.tsv",
        ),
        (
            "a.zip",
            b"",
            "a.zip: compressed files (\"zip\") are not read; decompress it first: unzip a.zip",
        ),
        (
            "a b.tgz",
            b"",
            "a b.tgz: compressed files (\"tgz\") are not read; decompress it first: tar -xzf 'a b.tgz'",
        ),
        (
            "a.fasta",
            b">a\nACGT\n",
            "a.fasta: unknown extension \"fasta\"; allowed: .csv, .tsv, .jsonl, .ndjson, .sdf, .sd, .mol, .mgf, .msp, .massbank, .mzml, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout); convert it: python3 -c \"import sys; records = ('\\n' + open(sys.argv[1]).read()).split('\\n>')[1:]; open(sys.argv[2], 'w').writelines(['header\\tsequence\\n'] + ['\\t'.join([lines[0].replace('\\t', ' '), ''.join(lines[1:])]) + '\\n' for lines in map(str.splitlines, records)])\" a.fasta a.tsv",
        ),
        (
            "a.txt",
            b"1",
            "a.txt: unknown extension \"txt\"; allowed: .csv, .tsv, .jsonl, .ndjson, .sdf, .sd, .mol, .mgf, .msp, .massbank, .mzml, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout); if it is a table, name it .tsv or .csv; if its lines are labels with numbered features, name it .svm, which data.source = \"multi-label\" reads",
        ),
        (
            "a.mzXML",
            b"<mzXML>",
            "a.mzXML: unknown extension \"mzxml\"; allowed: .csv, .tsv, .jsonl, .ndjson, .sdf, .sd, .mol, .mgf, .msp, .massbank, .mzml, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout); ProteoWizard converts it: msconvert --mzML",
        ),
        (
            "a.dat",
            b"1::Toy Story (1995)::Animation|Comedy\n",
            "a.dat: unknown extension \"dat\"; allowed: .csv, .tsv, .jsonl, .ndjson, .sdf, .sd, .mol, .mgf, .msp, .massbank, .mzml, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout); fields with :: between, as MovieLens writes them, are not read; convert it: python3 -c \"import sys; rows = open(sys.argv[1], 'rb').read(); open(sys.argv[2], 'wb').write(rows.replace(b'::', b'\\t'))\" a.dat a.tsv",
        ),
        (
            "a.csv",
            b"1::Toy Story (1995)::Animation|Comedy\n2::President, The (1995)::Drama\n",
            "a.csv:1: fields with :: between, as MovieLens writes them, are not read; convert it: python3 -c \"import sys; rows = open(sys.argv[1], 'rb').read(); open(sys.argv[2], 'wb').write(rows.replace(b'::', b'\\t'))\" a.csv a.tsv",
        ),
        (
            "a.tsv",
            b"1::F::48067\n",
            "a.tsv:1: fields with :: between, as MovieLens writes them, are not read; convert it: python3 -c \"import sys; rows = open(sys.argv[1], 'rb').read(); open(sys.argv[2], 'wb').write(rows.replace(b'::', b'\\t'))\" a.tsv new-a.tsv",
        ),
        (
            "a",
            b"1",
            "a: unknown extension \"\"; allowed: .csv, .tsv, .jsonl, .ndjson, .sdf, .sd, .mol, .mgf, .msp, .massbank, .mzml, also with .gz behind (data.source = \"official\" reads the official ChEBI-20 .txt layout); if it is a table, name it .tsv or .csv; if its lines are labels with numbered features, name it .svm, which data.source = \"multi-label\" reads",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n{\"id\":1,\n",
            "a.jsonl:2: not JSON at position 8: EOF while parsing a value; each line must be one JSON object",
        ),
        (
            "a.jsonl",
            b"{\"id\": 1 \"text\"}\n",
            "a.jsonl:1: not JSON at position 10: expected `,` or `}`; each line must be one JSON object",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"\\ud800\"}\n",
            "a.jsonl:1: not JSON at position 23: unexpected end of hex escape; each line must be one JSON object",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"} x\n",
            "a.jsonl:1: not JSON at position 21: trailing characters; each line must be one JSON object",
        ),
        ("a.jsonl", b"[1, 2]\n", "a.jsonl:1: found [1, 2]; each line must be one JSON object"),
        ("a.jsonl", b"\"text\"\n", "a.jsonl:1: found \"text\"; each line must be one JSON object"),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":\"a\"}\n{\"ID\":1,\"text\":\"a\"}\n",
            "a.jsonl:2: no key \"id\"; this line has: \"ID\", \"text\"",
        ),
        ("a.jsonl", b"{}\n", "a.jsonl:1: no key \"id\"; this line has: none"),
        (
            "a.jsonl",
            b"{\"id\":{},\"text\":\"a\"}\n",
            "a.jsonl:1: key \"id\" holds {}; a string, a number, null or a list of strings or of numbers is needed",
        ),
        (
            "a.jsonl",
            b"{\"id\":1,\"text\":[\"a\",2]}\n",
            "a.jsonl:1: key \"text\" holds [\"a\",2]; a list of strings or of numbers is needed",
        ),
    ];
    for (name, content, expected) in cases {
        let folder = Folder::new();
        let path = folder.file(name, content);
        match Table::read(&path, &["id", "text"]) {
            Ok(table) => panic!("accepted: {expected}: {table:?}"),
            // the feature of the same name
            Err(error) => {
                assert_eq!(&folder.message(error).replace(", and .parquet", ""), expected)
            }
        }
    }
}

/// Prefixes of good files, and files with one byte changed, are read or refused, never a panic.
#[test]
fn damaged_tables_never_panic() {
    let folder = Folder::new();
    let files: [(&str, &[u8]); 3] = [
        ("a.csv", b"id,text\r\n1,\"a\r\nb\"\"\"\n2,\xc3\xa9\n"),
        ("a.tsv", b"\xef\xbb\xbfid\ttext\r\n1\ta\n2\t\xc3\xa9\n"),
        ("a.jsonl", b"{\"id\":1,\"text\":\"\\u00e9\"}\n{\"id\":\"b\",\"text\":2e3}\n"),
    ];
    let mut read = 0;
    let mut refused = 0;
    for (name, bytes) in files {
        for place in 0..bytes.len() {
            let mut damaged = vec![bytes[..place].to_vec()];
            for byte in [0, b'"', b'\n', b'\r', b',', b'\t', b'{', b'\\', 0xff] {
                let mut changed = bytes.to_vec();
                changed[place] = byte;
                damaged.push(changed);
            }
            for content in damaged {
                match Table::read(&folder.file(name, content), &["id", "text"]) {
                    Ok(table) => {
                        assert!(!table.is_empty());
                        read += 1;
                    }
                    Err(error) => {
                        folder.message(error);
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(read > 0 && refused > 0);
}
