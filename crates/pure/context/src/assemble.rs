//! The bytes of a request body.
//!
//! A body is the request's parameters followed by tools, system and messages. All content is copied
//! from bytes that were made once; brackets, commas, role wrappers and cache markers are added here
//! and nowhere else. Adjacent segments with the same role become one message.
//!
//! Not here: which markers are set ([`crate::ledger`]) and validity ([`crate::validate`]).

use crate::prefix::{Part, RenderedPrefix};
use crate::segment::Segment;
use dormouse_core::json::RawJson;
use dormouse_core::record::{Marker, MarkerPlace, Role, Ttl};

/// Parts of a body except its segments.
#[derive(Clone, Debug)]
pub struct RequestBody<'a> {
    /// All members but tools, system and messages, as one JSON object.
    pub params: &'a RawJson,
    /// Tools, system blocks and instruction fragments.
    pub prefix: &'a RenderedPrefix,
    /// Cache markers to splice in; at most four per request.
    pub markers: &'a [Marker],
}

// Each marker ends with the closing brace of the block it is spliced into.
const MARKER_5M: &[u8] = br#","cache_control":{"type":"ephemeral"}}"#;
const MARKER_1H: &[u8] = br#","cache_control":{"type":"ephemeral","ttl":"1h"}}"#;
/// Upper bound of the bytes around a segment that begins a message:
/// `{"role":"assistant","content":[` and `]},`.
const WRAPPER: usize = 40;

impl RequestBody<'_> {
    /// Joins the body. `content` is the sum of the segments' block bytes and `count` their number:
    /// with them the buffer is allocated once.
    pub fn assemble<'a>(
        &self,
        segments: impl Iterator<Item = &'a Segment>,
        content: u64,
        count: usize,
    ) -> Vec<u8> {
        let prefix: usize = self.prefix.parts().map(|part| part.bytes.len() + 1).sum();
        let content = usize::try_from(content).unwrap_or(0);
        // 128 covers the fixed names and brackets (`"tools":[`, `"system":[`, `"messages":[`).
        let capacity = self.params.bytes().len()
            + prefix
            + content
            + count * (WRAPPER + 1)
            + self.markers.len() * MARKER_1H.len()
            + 128;
        let mut out = Vec::with_capacity(capacity);
        self.write_params(&mut out);
        self.write_parts(&mut out, "tools", self.prefix.tools(), MarkerPlace::Tool);
        self.write_parts(
            &mut out,
            "system",
            self.prefix.system(),
            MarkerPlace::System,
        );
        self.write_messages(&mut out, segments);
        out.push(b'}');
        out
    }

    /// Writes the parameters without their closing brace, so that further members can follow.
    fn write_params(&self, out: &mut Vec<u8>) {
        let params = self.params.bytes();
        out.extend_from_slice(params.strip_suffix(b"}").unwrap_or(b"{"));
        if out.len() > 1 {
            out.push(b',');
        }
    }

    /// Lifetime of the marker at a place, if there is one.
    fn ttl(&self, place: MarkerPlace) -> Option<Ttl> {
        self.markers
            .iter()
            .find(|marker| marker.place == place)
            .map(|marker| marker.ttl)
    }

    fn write_parts(
        &self,
        out: &mut Vec<u8>,
        name: &str,
        parts: &[Part],
        place: impl Fn(u32) -> MarkerPlace,
    ) {
        if parts.is_empty() {
            return;
        }
        // Names and order of the members are fixed, so that equal prompts give equal bytes.
        out.push(b'"');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":[");
        for (index, part) in (0_u32..).zip(parts) {
            if index > 0 {
                out.push(b',');
            }
            write_marked(out, &part.bytes, self.ttl(place(index)));
        }
        out.extend_from_slice(b"],");
    }

    fn write_messages<'a>(&self, out: &mut Vec<u8>, segments: impl Iterator<Item = &'a Segment>) {
        out.extend_from_slice(b"\"messages\":[");
        let mut writer = Turns { out, role: None };
        for (index, part) in (0_u32..).zip(self.prefix.fragments()) {
            writer.block(
                Role::User,
                &part.bytes,
                self.ttl(MarkerPlace::Fragment(index)),
            );
        }
        // At most four segments carry a marker; comparing with the next one keeps the loop a copy.
        let mut marked: Vec<(u64, Ttl)> = self
            .markers
            .iter()
            .filter_map(|marker| match marker.place {
                MarkerPlace::Segment(at) => Some((at, marker.ttl)),
                _ => None,
            })
            .collect();
        marked.sort_unstable();
        let mut marked = marked.into_iter();
        let mut next = marked.next();
        // Internal iteration compiles to two plain loops over chunks and entries; `for` would check
        // for the end of a chunk at every step.
        segments.enumerate().for_each(|(at, segment)| {
            let is_marked = next.is_some_and(|(place, _)| place == at as u64);
            let ttl = next.filter(|_| is_marked).map(|(_, ttl)| ttl);
            writer.block(segment.role, segment.block.bytes(), ttl);
            if is_marked {
                next = marked.next();
            }
        });
        writer.finish();
    }
}

/// Writes blocks as messages and joins neighbours with the same role.
struct Turns<'a> {
    out: &'a mut Vec<u8>,
    role: Option<Role>,
}

impl Turns<'_> {
    fn block(&mut self, role: Role, bytes: &[u8], ttl: Option<Ttl>) {
        // Each wrapper is a literal of its own: the compiler then knows the length and inlines the
        // copy. A call would take as long as copying a short block.
        let out = &mut *self.out;
        match (self.role, role) {
            (Some(before), _) if before == role => out.push(b','),
            (None, Role::User) => out.extend_from_slice(br#"{"role":"user","content":["#),
            (None, Role::Assistant) => out.extend_from_slice(br#"{"role":"assistant","content":["#),
            (None, Role::System) => out.extend_from_slice(br#"{"role":"system","content":["#),
            (Some(_), Role::User) => out.extend_from_slice(br#"]},{"role":"user","content":["#),
            (Some(_), Role::Assistant) => {
                out.extend_from_slice(br#"]},{"role":"assistant","content":["#);
            }
            (Some(_), Role::System) => out.extend_from_slice(br#"]},{"role":"system","content":["#),
        }
        self.role = Some(role);
        write_marked(out, bytes, ttl);
    }

    fn finish(self) {
        if self.role.is_some() {
            self.out.extend_from_slice(b"]}");
        }
        self.out.push(b']');
    }
}

/// Copies an object and splices the marker in before its closing brace. An empty object takes no
/// marker: the leading comma would make it invalid JSON.
fn write_marked(out: &mut Vec<u8>, bytes: &[u8], ttl: Option<Ttl>) {
    let Some(ttl) = ttl else {
        out.extend_from_slice(bytes);
        return;
    };
    let marker = match ttl {
        Ttl::FiveMinutes => MARKER_5M,
        Ttl::OneHour => MARKER_1H,
    };
    match bytes.strip_suffix(b"}") {
        Some(b"{") | None => out.extend_from_slice(bytes),
        Some(open) => {
            out.extend_from_slice(open);
            out.extend_from_slice(marker);
        }
    }
}
