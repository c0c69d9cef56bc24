//! The relation of a history to those seen before.
//!
//! # Model
//! One node per request: its chain with the caller's face (`tip`), the chain without the face
//! (`bare`), and the chain of the assistant's blocks up to and including its reply (`reply`). A
//! lookup takes the longest known chain of a request. Nodes are forgotten oldest first; a forgotten
//! conversation is new again, which costs its figures a second line and nothing else.
//!
//! # Not here
//! Where nodes are kept between two runs: [`Footprint`] is the value that a caller stores.

use crate::canonical::Handle;
use crate::seen::{Role, Seen, Session, handles};
use dormouse_core::hash::Hash;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::collections::{HashMap, VecDeque};
use std::fmt;

/// Kinds of links in the seed of a chain.
const CREDENTIAL: u8 = 32;
const SESSION: u8 = 33;
const AGENT: u8 = 34;
const FACE: u8 = 35;
const REPLIES: u8 = 36;
const REPLY: u8 = 37;

/// Link of a chain: half a hash, which is enough, since a seed holds a secret that no client knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chain(u128);

impl Chain {
    fn of(hash: Hash) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&hash.as_bytes()[..16]);
        Self(u128::from_be_bytes(half))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({:08x}…)", self.0 >> 96)
    }
}

impl Serialize for Chain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Chain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16)
            .map(Self)
            .map_err(|_| de::Error::custom(format!("`{text}` is no chain of 32 digits")))
    }
}

/// Sender of a request. Whatever differs here can never be related.
#[derive(Clone, Debug)]
pub struct Caller {
    /// MAC of the credential under a secret of this installation.
    pub credential: Hash,
    /// Session that a header names.
    pub session: Option<String>,
    /// Sub-agent that a header names.
    pub agent: Option<String>,
}

/// Kind of relation between a history and those seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// No known history has a beginning in common with it.
    New,
    /// It begins with the newest request of a conversation.
    Continues,
    /// It was sent before.
    Retries,
    /// It begins with a request that was continued otherwise.
    Branches,
    /// It contains the reply to a known request, but not that request as it was.
    Edits,
    /// It begins with a known request, under another system prompt or other tools.
    Aside,
    /// It is unknown, in a known session with known tools: the client compacted or cleared.
    Restarts,
}

/// Conversation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// Id of the conversation: the chain of its first request.
    pub conversation: Chain,
    /// Relation to the requests before.
    pub relation: Relation,
    /// Blocks at the beginning that were sent before, unchanged.
    pub known: usize,
    /// Conversation beside which this one runs, or after which it starts.
    pub of: Option<Chain>,
    /// Handle by which [`Recogniser::replied`] finds the request.
    pub footprint: Footprint,
}

/// Everything that is kept of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Footprint {
    /// Conversation that the request belongs to.
    pub conversation: Chain,
    /// Chain of the whole history, under its face.
    pub tip: Chain,
    /// Chain of the whole history, whatever its face.
    pub bare: Chain,
    /// Session, agent and face, if the client names its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Chain>,
    /// Chain of the assistant's blocks, the reply to this request included, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Chain>,
}

#[derive(Debug)]
struct Node {
    footprint: Footprint,
    /// Replies to this request: a retry may be answered otherwise.
    replies: Vec<Chain>,
    /// True once a later request began with this one.
    continued: bool,
}

/// Requests seen so far. See the module documentation.
#[derive(Debug)]
pub struct Recogniser {
    nodes: VecDeque<Node>,
    /// Number of the first node that is kept.
    first: u64,
    most: usize,
    tips: HashMap<Chain, u64>,
    bare: HashMap<Chain, u64>,
    replies: HashMap<Chain, u64>,
    sessions: HashMap<Chain, u64>,
}

/// Chains of a request at every position.
struct Chains {
    /// `tips[i]` is the chain after `i + 1` blocks.
    tips: Vec<Chain>,
    bare: Vec<Chain>,
    /// Chains of the assistant's blocks that have a handle: the position behind the block, the
    /// chain, and whether it proves anything by itself.
    replies: Vec<(usize, Chain, bool)>,
    session: Option<Chain>,
    /// Hash behind the last reply, to be extended by the next one.
    end_of_replies: Hash,
    is_strong: bool,
}

impl Chains {
    fn of(caller: &Caller, seen: &Seen) -> Self {
        let body = seen.session.as_ref();
        let (named, user) = match (&caller.session, body) {
            (Some(id), _) | (None, Some(Session::Named(id))) => (Some(id), None),
            (None, Some(Session::User(id))) => (None, Some(id)),
            (None, None) => (None, None),
        };
        let part = |text: Option<&String>| Hash::of(text.map_or("", String::as_str).as_bytes());
        let mut bare = Hash::START
            .link(CREDENTIAL, caller.credential)
            .link(SESSION, part(named.or(user)))
            .link(AGENT, part(caller.agent.as_ref()));
        let mut tip = bare.link(FACE, seen.face);
        let session = named.map(|_| Chain::of(tip));
        let mut end_of_replies = tip.link(REPLIES, Hash::START);
        let mut chains = Self {
            tips: Vec::with_capacity(seen.blocks.len()),
            bare: Vec::with_capacity(seen.blocks.len()),
            replies: Vec::new(),
            session,
            end_of_replies,
            // A named session tells its conversations apart; few words are enough there.
            is_strong: named.is_some(),
        };
        for (at, block) in seen.blocks.iter().enumerate() {
            let role = block.role.tag();
            tip = tip.link(role, block.digest);
            bare = bare.link(role, block.digest);
            chains.tips.push(Chain::of(tip));
            chains.bare.push(Chain::of(bare));
            let (end, strong) = extended(end_of_replies, chains.is_strong, block.handle);
            if end != end_of_replies {
                (end_of_replies, chains.is_strong) = (end, strong);
                chains.replies.push((at + 1, Chain::of(end), strong));
            }
        }
        chains.end_of_replies = end_of_replies;
        chains
    }
}

/// The chain of replies with one more handle, and whether it proves anything by itself.
fn extended(end: Hash, is_strong: bool, handle: Handle) -> (Hash, bool) {
    match handle {
        Handle::Absent => (end, is_strong),
        Handle::Weak(hash) => (end.link(REPLY, hash), is_strong),
        Handle::Strong(hash) => (end.link(REPLY, hash), true),
    }
}

impl Recogniser {
    /// A recogniser that keeps at most this many requests.
    pub fn new(most: usize) -> Self {
        Self {
            nodes: VecDeque::new(),
            first: 0,
            most: most.max(1),
            tips: HashMap::new(),
            bare: HashMap::new(),
            replies: HashMap::new(),
            sessions: HashMap::new(),
        }
    }

    /// Number of requests that are kept.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// True before the first request.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Relates a request to those before, and keeps it.
    pub fn take(&mut self, caller: &Caller, seen: &Seen) -> Recognised {
        let chains = Chains::of(caller, seen);
        let (Some(&tip), Some(&bare)) = (chains.tips.last(), chains.bare.last()) else {
            // Unreachable by construction of `Seen`; related to nothing, and not kept.
            return unrelated(Chain::of(chains.end_of_replies));
        };
        let (relation, known, node, of) = self.relate(seen, &chains);
        let conversation = match node.and_then(|at| self.node(at)) {
            Some(node) => node.footprint.conversation,
            None => tip,
        };
        let footprint = Footprint {
            conversation,
            tip,
            bare,
            session: chains.session,
            reply: None,
        };
        if relation != Relation::Retries {
            if let Some(node) = node {
                if relation != Relation::Edits {
                    self.learn_reply(node, known, seen, &chains);
                }
                if let Some(node) = self.node_mut(node) {
                    node.continued = true;
                }
            }
            self.insert(footprint);
        }
        Recognised {
            conversation,
            relation,
            known,
            of,
            footprint,
        }
    }

    /// The conversation that a request belongs to, if it is known. Nothing is kept of the request.
    pub fn find(&self, caller: &Caller, seen: &Seen) -> Option<Chain> {
        let (_, _, node, _) = self.relate(seen, &Chains::of(caller, seen));
        Some(self.node(node?)?.footprint.conversation)
    }

    /// Keeps a request of an earlier run.
    pub fn restore(&mut self, footprint: Footprint) {
        // An answer without content leaves the same footprint as its retry.
        if !self.tips.contains_key(&footprint.tip) {
            self.insert(footprint);
        }
    }

    /// Learns the reply to a request, as the blocks of its message. Returns the chain to store with
    /// the footprint, if the reply identifies the conversation.
    pub fn replied<'a>(
        &mut self,
        caller: &Caller,
        seen: &Seen,
        blocks: impl Iterator<Item = &'a [u8]>,
    ) -> Option<Chain> {
        let chains = Chains::of(caller, seen);
        let mut end = chains.end_of_replies;
        let mut is_strong = chains.is_strong;
        for handle in handles(blocks).ok()? {
            (end, is_strong) = extended(end, is_strong, handle);
        }
        if end == chains.end_of_replies || !is_strong {
            return None;
        }
        let node = *self.tips.get(chains.tips.last()?)?;
        let reply = Chain::of(end);
        self.set_reply(node, reply);
        Some(reply)
    }

    /// The relation, the blocks known, the node of the conversation, and the conversation beside.
    fn relate(
        &self,
        seen: &Seen,
        chains: &Chains,
    ) -> (Relation, usize, Option<u64>, Option<Chain>) {
        let longest = |known: &HashMap<Chain, u64>, chains: &[Chain]| {
            let mut links = chains.iter().enumerate().rev();
            links.find_map(|(at, link)| Some((at + 1, *known.get(link)?)))
        };
        let main = longest(&self.tips, &chains.tips);
        if let Some((known, node)) = main
            && known == chains.tips.len()
        {
            return (Relation::Retries, known, Some(node), None);
        }
        let known = main.map_or(0, |(known, _)| known);
        // One reply and what follows it is how every conversation goes on, also if two branches got
        // the same reply. Only with more than one may a message between them have changed.
        let goes_on = main.is_some() && is_reply(seen, known) && runs_of_replies(seen, known) == 1;
        if !goes_on && let Some(node) = self.edited(seen, chains) {
            return (Relation::Edits, known, Some(node), None);
        }
        if let Some((known, node)) = main {
            let continued = self.node(node).is_some_and(|node| node.continued);
            let relation = if continued {
                Relation::Branches
            } else {
                Relation::Continues
            };
            return (relation, known, Some(node), None);
        }
        let conversation = |at: u64| self.node(at).map(|node| node.footprint.conversation);
        if let Some((known, node)) = longest(&self.bare, &chains.bare) {
            return (Relation::Aside, known, None, conversation(node));
        }
        let earlier = chains
            .session
            .and_then(|session| self.sessions.get(&session));
        match earlier {
            Some(node) => (Relation::Restarts, 0, None, conversation(*node)),
            None => (Relation::New, 0, None, None),
        }
    }

    /// The newest request whose reply is in the history, though not behind the request as it was.
    fn edited(&self, seen: &Seen, chains: &Chains) -> Option<u64> {
        let (_, chain, _) = chains
            .replies
            .iter()
            .rev()
            .filter(|(_, _, strong)| *strong)
            .find(|(_, chain, _)| self.replies.contains_key(chain))?;
        let node = *self.replies.get(chain)?;
        let tip = self.node(node)?.footprint.tip;
        let at = chains.tips.iter().position(|link| *link == tip);
        let is_unchanged = at.is_some_and(|at| is_reply(seen, at + 1));
        (!is_unchanged).then_some(node)
    }

    /// Learns the reply to a request from the history that continues it, where it was not observed.
    fn learn_reply(&mut self, node: u64, known: usize, seen: &Seen, chains: &Chains) {
        let follow = seen.blocks.iter().skip(known);
        let reply = follow.take_while(|block| block.role == Role::Assistant);
        let end = known + reply.count();
        let mut links = chains.replies.iter().rev();
        let within = links.find(|(behind, ..)| *behind <= end);
        if let Some((behind, chain, true)) = within
            && *behind > known
        {
            self.set_reply(node, *chain);
        }
    }

    fn set_reply(&mut self, at: u64, reply: Chain) {
        if let Some(node) = self.node_mut(at)
            && !node.replies.contains(&reply)
        {
            node.replies.push(reply);
            self.replies.insert(reply, at);
        }
    }

    fn insert(&mut self, footprint: Footprint) {
        if self.nodes.len() >= self.most {
            self.forget_oldest();
        }
        let at = self.first + self.nodes.len() as u64;
        self.tips.insert(footprint.tip, at);
        self.bare.insert(footprint.bare, at);
        if let Some(session) = footprint.session {
            self.sessions.insert(session, at);
        }
        if let Some(reply) = footprint.reply {
            self.replies.insert(reply, at);
        }
        self.nodes.push_back(Node {
            footprint,
            replies: footprint.reply.into_iter().collect(),
            continued: false,
        });
    }

    fn forget_oldest(&mut self) {
        let Some(node) = self.nodes.pop_front() else {
            return;
        };
        let at = self.first;
        self.first += 1;
        let Footprint {
            tip, bare, session, ..
        } = node.footprint;
        // A later request may have taken the same link over.
        let remove = |map: &mut HashMap<Chain, u64>, link: Option<Chain>| {
            if let Some(link) = link
                && map.get(&link) == Some(&at)
            {
                map.remove(&link);
            }
        };
        remove(&mut self.tips, Some(tip));
        remove(&mut self.bare, Some(bare));
        remove(&mut self.sessions, session);
        for reply in node.replies {
            remove(&mut self.replies, Some(reply));
        }
    }

    fn node(&self, at: u64) -> Option<&Node> {
        let index = usize::try_from(at.checked_sub(self.first)?).ok()?;
        self.nodes.get(index)
    }

    fn node_mut(&mut self, at: u64) -> Option<&mut Node> {
        let index = usize::try_from(at.checked_sub(self.first)?).ok()?;
        self.nodes.get_mut(index)
    }
}

/// True if the block at a position is the assistant's.
fn is_reply(seen: &Seen, at: usize) -> bool {
    let block = seen.blocks.get(at);
    block.is_some_and(|block| block.role == Role::Assistant)
}

/// Number of uninterrupted runs of the assistant's blocks behind a position.
fn runs_of_replies(seen: &Seen, known: usize) -> usize {
    let rest = seen.blocks.get(known..).unwrap_or_default();
    let runs = rest.chunk_by(|one, next| one.role == next.role);
    runs.filter(|run| {
        run.first()
            .is_some_and(|block| block.role == Role::Assistant)
    })
    .count()
}

fn unrelated(chain: Chain) -> Recognised {
    Recognised {
        conversation: chain,
        relation: Relation::New,
        known: 0,
        of: None,
        footprint: Footprint {
            conversation: chain,
            tip: chain,
            bare: chain,
            session: None,
            reply: None,
        },
    }
}
