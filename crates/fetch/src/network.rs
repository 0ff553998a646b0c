use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, SystemTime};

use dsokr_core::Argument;
use dsokr_core::store::sync_file;
use ring::digest::{Context, Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
use ureq::config::RedirectAuthHeaders;
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::typestate::WithoutBody;
use ureq::{Agent, Body, RequestBuilder};

use crate::error::Error;
use crate::part::{PartialDownload, text};
use crate::table::RemoteFile;

/// New bytes after which a download is tried again as often as at first.
const LITTLE: u64 = 1 << 16;

/// The longest time that a server may ask to wait before a new try.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// How files are downloaded.
#[derive(Clone, Debug, smart_default::SmartDefault)]
pub struct Network {
    /// The longest time without an answer or a byte.
    #[default(Duration::from_secs(30))]
    pub timeout: Duration,
    /// How often a download is tried again that brings nothing new, or fewer than 64 KiB.
    #[default(4)]
    pub retries: u32,
    /// The time before a new try; it grows with each one that brings nothing new, and is at least what the server asks for.
    #[default(Duration::from_secs(1))]
    pub pause: Duration,
    /// A token that requests to one server carry.
    pub token: Option<Token>,
}

/// A secret token for one server. Requests to others, and those that are redirected, do not carry it, and no message
/// has it.
#[derive(Clone)]
pub struct Token {
    /// The server's address, such as `https://huggingface.co`.
    server: String,
    secret: String,
}

impl Token {
    /// Creates the token of a server, whose address ends without `/`; none for a secret that no header can have.
    pub fn new(server: &str, secret: &str) -> Option<Self> {
        let is_one = !secret.is_empty() && secret.chars().all(|c| c.is_ascii_graphic());
        is_one.then(|| Self { server: server.to_owned(), secret: secret.to_owned() })
    }

    /// Returns the header of a request to `url`, if it is one to the server.
    fn header(&self, url: &str) -> Option<String> {
        let path = url.strip_prefix(&self.server)?;
        path.starts_with('/').then(|| format!("Bearer {}", self.secret))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "a token for {}", self.server)
    }
}

/// Why a request did not bring the rest of a file, where a further one may.
struct Unfinished {
    message: String,
    /// The time that the server asks to wait.
    after: Option<Duration>,
}

impl From<String> for Unfinished {
    fn from(message: String) -> Self {
        Self { message, after: None }
    }
}

/// How far a download is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The bytes that are there.
    pub bytes: u64,
    /// All bytes, where the server says it.
    pub total: Option<u64>,
}

impl Network {
    fn agent(&self, redirects: u32) -> Agent {
        let config = Agent::config_builder()
            .timeout_connect(Some(self.timeout))
            .timeout_recv_response(Some(self.timeout))
            .max_redirects(redirects)
            .max_redirects_will_error(redirects > 0)
            // tokens are not sent on: ureq's notion of one host has all its ports
            .redirect_auth_headers(RedirectAuthHeaders::Never)
            .http_status_as_error(false)
            .user_agent(concat!("dsokr/", env!("CARGO_PKG_VERSION")));
        config.build().into()
    }

    /// Adds the token to a request to its server.
    fn with_token(
        &self,
        url: &str,
        request: RequestBuilder<WithoutBody>,
    ) -> RequestBuilder<WithoutBody> {
        match self.token.as_ref().and_then(|token| token.header(url)) {
            Some(header) => request.header("Authorization", header),
            None => request,
        }
    }

    /// Returns the status and the headers of the answer at `url`, without following redirects. A server that has no time is
    /// asked again; one that cannot be reached is not, since without network a cache may do.
    pub(crate) fn head(&self, url: &str) -> Result<(StatusCode, HeaderMap), Error> {
        let mut tries = 0;
        loop {
            let request = self.with_token(url, self.agent(0).head(url));
            let answer = request.call().map_err(|e| Error::download(url, e.to_string()))?;
            let (parts, _) = answer.into_parts();
            if !passes(parts.status) {
                return Ok((parts.status, parts.headers));
            }
            tries += 1;
            let message = format!("the server answers {}", parts.status);
            if tries > self.retries {
                let message = format!("{message}; {tries} tries brought no other answer");
                return Err(Error::download(url, message));
            }
            self.wait(url, &message, retry_after(&parts.headers), tries)?;
        }
    }

    /// Waits before a new try, longer after each one in vain, and at least as long as the server has asked for.
    ///
    /// # Errors
    /// [`Error::Download`] at once where the server asks for more than [`LONGEST_WAIT`].
    fn wait(
        &self,
        url: &str,
        message: &str,
        after: Option<Duration>,
        tries: u32,
    ) -> Result<(), Error> {
        let usual = self.pause * tries;
        let Some(after) = after else {
            tracing::warn!("{url}: {message}; it is tried again");
            thread::sleep(usual);
            return Ok(());
        };
        let seconds = after.as_secs_f64().ceil();
        if after > LONGEST_WAIT {
            let message = format!("{message}, and is to be asked again in {seconds} seconds");
            return Err(Error::download(url, message));
        }
        if usual > after {
            // the server asks for less
            let seconds = usual.as_secs_f64().ceil();
            tracing::warn!("{url}: {message}; it is tried again in {seconds} seconds");
            thread::sleep(usual);
        } else {
            tracing::warn!(
                "{url}: {message}; it is tried again in {seconds} seconds, as the server asks"
            );
            thread::sleep(after);
        }
        Ok(())
    }

    /// Downloads a file to `path`, checks it and returns its SHA-256. A part that an earlier call has left of the same
    /// address is continued, where the server still has the same version.
    ///
    /// # Errors
    /// [`Error::Download`] for an answer other than success, connections that fail again and again or bring little
    /// each, bytes in a coding where `file` has no checksum, and bytes that differ from what `file` says, which are
    /// removed; the errors of the file system.
    pub fn download(
        &self,
        file: &RemoteFile,
        path: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<String, Error> {
        if path.is_file() {
            // the file of a call that was stopped before it unpacked; without a checksum it may be any file of that name
            if file.has_checksum()
                && let Ok(sha256) = check(file, path, &file.url)
            {
                return Ok(sha256);
            }
            fs::remove_file(path).map_err(Error::io(path))?;
        }
        let part = PartialDownload::beside(path, file);
        let mut idle = 0;
        let mut reached = part.len();
        while let Some(Unfinished { message, after }) = self.request(&part, part.len(), progress)? {
            // parts that shrink and grow again bring nothing new
            idle += 1;
            if part.len() >= reached + LITTLE {
                (idle, reached) = (0, part.len());
            }
            if idle > self.retries {
                let message = format!("{message}; {idle} tries brought nothing new, or too little");
                return Err(Error::download(&file.url, message));
            }
            self.wait(&file.url, &message, after, idle.max(1))?;
        }
        let sha256 = check(file, &part.file, &file.url).inspect_err(|_| part.remove())?;
        part.finish(path)?;
        Ok(sha256)
    }

    /// Returns one request for the bytes from `have` on: none once the file is whole, else why a further try may bring
    /// the rest.
    fn request(
        &self,
        part: &PartialDownload,
        have: u64,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<Unfinished>, Error> {
        let url = &part.remote.url;
        let request = self.with_token(url, self.agent(10).get(url));
        let mut request = request.header("Accept-Encoding", "identity");
        // without a version the server could send the rest of a different file
        let source = part.source().filter(|source| have > 0 && source.version().is_some());
        if let Some(version) = source.as_ref().and_then(|source| source.version()) {
            request = request.header("Range", format!("bytes={have}-")).header("If-Range", version);
        }
        let answer = match request.call() {
            Ok(answer) => answer,
            // a redirect to file:/x is a path of the same server to ureq, which redirects again
            Err(ureq::Error::TooManyRedirects) => {
                let message =
                    "too many redirects, or one to an address that is none of http or https";
                return Err(Error::download(url, message));
            }
            Err(error @ ureq::Error::BadUri(_)) => {
                return Err(Error::download(url, error.to_string()));
            }
            Err(error) => return Ok(Some(error.to_string().into())),
        };
        let status = answer.status();
        let headers = answer.headers();
        let (start, end, total) = match (status, source.and_then(|saved| saved.rest(headers, have)))
        {
            (StatusCode::OK, _) => {
                let bytes = text(headers, "content-length").and_then(|text| text.parse().ok());
                (0, bytes, bytes)
            }
            (StatusCode::PARTIAL_CONTENT, Some((end, total))) => (have, Some(end), total),
            (StatusCode::PARTIAL_CONTENT | StatusCode::RANGE_NOT_SATISFIABLE, _) => {
                part.remove();
                let message = format!("{status}, not the bytes from {have} on of the same version");
                return Ok(Some(message.into()));
            }
            _ => {
                let message = format!("the server answers {status}");
                return if passes(status) {
                    Ok(Some(Unfinished { message, after: retry_after(headers) }))
                } else {
                    Err(Error::download(url, message))
                };
            }
        };
        if let Some(coding) = coding(headers).filter(|_| !part.remote.has_checksum()) {
            let message = format!(
                "the server sends it with Content-Encoding: {coding}, which was not asked for; without a checksum \
                 only identity is taken: state its SHA-256 (sha256 of a table of data sets, or {})",
                Argument::new("sha256")
            );
            return Err(Error::download(url, message));
        }
        if start == 0 {
            part.begin(headers, total)?;
        }
        Ok(self.receive(part, (start, end, total), answer, progress)?.map(Unfinished::from))
    }

    /// Writes the bytes of an answer behind the first `start` ones, up to `end` of `total`; returns none once the file is
    /// whole, else why a further request may bring the rest.
    fn receive(
        &self,
        part: &PartialDownload,
        (start, end, total): (u64, Option<u64>, Option<u64>),
        answer: Response<Body>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Option<String>, Error> {
        let most = part.remote.bytes.unwrap_or(part.remote.most_bytes);
        if let Some(total) = total.filter(|&total| total > most) {
            let message = format!("the server announces {total} bytes; the limit is {most}");
            return Err(Error::download(&part.remote.url, message));
        }
        let disk = Error::io(&part.file);
        let mut file =
            OpenOptions::new().append(true).create(true).open(&part.file).map_err(&disk)?;
        // The time-out is one between bytes, which the reader of the body does not have. Where it has passed, the thread waits on
        // with its socket until the server sends something or ends the connection: at most one thread for each try.
        let (send, received) = sync_channel::<std::io::Result<Vec<u8>>>(4);
        let mut body = answer.into_body().into_reader();
        thread::spawn(move || {
            loop {
                let mut block = vec![0; 1 << 16];
                let read = body.read(&mut block).map(|count| block.truncate(count));
                let last = read.is_err() || block.is_empty();
                if send.send(read.map(|()| block)).is_err() || last {
                    return;
                }
            }
        });
        let mut bytes = start;
        loop {
            let cut = match received.recv_timeout(self.timeout) {
                Ok(Ok(block)) if block.is_empty() => break,
                Ok(Ok(block)) => {
                    bytes += block.len() as u64;
                    if bytes > most {
                        part.remove();
                        let message = format!("more than {most} bytes arrive; the limit is {most}");
                        return Err(Error::download(&part.remote.url, message));
                    }
                    if end.is_some_and(|end| bytes > end) {
                        part.remove();
                        return Ok(Some("more bytes arrive than the server announced".into()));
                    }
                    file.write_all(&block).map_err(&disk)?;
                    progress(Progress { name: &part.remote.name, bytes, total });
                    continue;
                }
                Ok(Err(error)) => format!("cut off after {bytes} bytes: {error}"),
                Err(RecvTimeoutError::Disconnected) => format!("cut off after {bytes} bytes"),
                Err(RecvTimeoutError::Timeout) => {
                    let seconds = self.timeout.as_secs_f64();
                    format!("no byte in {seconds} seconds after {bytes} bytes")
                }
            };
            return Ok(Some(cut));
        }
        sync_file(&file).map_err(disk)?;
        let short = total.filter(|&total| bytes < total);
        Ok(short.map(|total| format!("cut off after {bytes} of {total} bytes")))
    }
}

/// Returns whether a later answer may be a different one.
fn passes(status: StatusCode) -> bool {
    let passing = [StatusCode::TOO_MANY_REQUESTS, StatusCode::REQUEST_TIMEOUT];
    passing.contains(&status) || status.is_server_error()
}

/// Returns how long the server asks to wait before a new try, in seconds or by a date (`Retry-After`).
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = text(headers, "retry-after")?;
    let value = value.trim();
    if let Ok(seconds) = value.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    date.duration_since(SystemTime::now()).ok()
}

/// Returns the coding of an answer, if its bytes differ from the bytes of the file.
fn coding(headers: &HeaderMap) -> Option<String> {
    let coding = headers.get("content-encoding")?;
    let coding = String::from_utf8_lossy(coding.as_bytes()).trim().to_lowercase();
    Some(coding).filter(|coding| !coding.is_empty() && coding != "identity")
}

/// Checks the size, the SHA-256 and the git id of a download, as far as `file` has them, and returns its SHA-256.
/// Errors call the download `name`.
///
/// # Errors
/// [`Error::Download`] for a file that differs; the errors of the file system.
pub fn check(file: &RemoteFile, path: &Path, name: &str) -> Result<String, Error> {
    let stream = File::open(path).map_err(Error::io(path))?;
    let bytes = stream.metadata().map_err(Error::io(path))?.len();
    if let Some(expected) = file.bytes.filter(|&expected| expected != bytes) {
        let message = format!("it has {bytes} bytes; expected are {expected}");
        return Err(Error::download(name, message));
    }
    let mut sha256 = Context::new(&SHA256);
    // what git uses, and only against errors and changed files
    let mut git = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    git.update(format!("blob {bytes}\0").as_bytes());
    let mut reader = BufReader::new(stream);
    let mut block = vec![0; 1 << 16];
    loop {
        let count = reader.read(&mut block).map_err(Error::io(path))?;
        if count == 0 {
            break;
        }
        sha256.update(&block[..count]);
        git.update(&block[..count]);
    }
    let digits = |digest: Digest| -> String {
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let sha256 = digits(sha256.finish());
    let git = digits(git.finish());
    for (kind, sum, expected) in [("SHA-256", &sha256, &file.sha256), ("git id", &git, &file.git)] {
        if let Some(expected) = expected.as_ref().filter(|stated| !stated.eq_ignore_ascii_case(sum))
        {
            let message = format!("its {kind} is {sum}; expected is {expected}");
            return Err(Error::download(name, message));
        }
    }
    Ok(sha256)
}
