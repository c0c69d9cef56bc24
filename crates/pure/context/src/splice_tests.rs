use super::*;
use bytes::Bytes;
use dormouse_core::record::{Boundary, BoundaryKind, Trigger};

fn place(seq: u64) -> Arc<Place> {
    Arc::new(Place {
        seq: Seq::new(seq),
        offset: seq * 1_000,
        id: format!("b{seq}").as_str().into(),
        session: None,
        blocks: 0,
        ordinal: None,
        run: 0,
    })
}

/// A boundary record with these blocks, as a session that knows `texts` writes it.
fn boundary(texts: &Texts, seq: u64, blocks: &[Block]) -> Record {
    let spliced = texts.splice(Seq::new(seq), blocks);
    let body = Body::Boundary(Box::new(Boundary {
        trigger: Trigger::Manual,
        kind: BoundaryKind::Full,
        pre_tokens: None,
        post_tokens: None,
        fixed_tokens: None,
        summary_tokens: None,
        summary: Vec::new(),
        restored: Vec::new(),
        text: spliced.text,
        spliced: spliced.blocks,
        previous: None,
        manifest: None,
        preserved: None,
    }));
    Record {
        seq: Seq::new(seq),
        offset: 0,
        id: format!("b{seq}").as_str().into(),
        parent: None,
        session: None,
        at: None,
        caused_by: None,
        side_chain: false,
        agent: None,
        own: true,
        body,
    }
}

fn parts(record: &Record) -> (&[String], &[Vec<LineRun>]) {
    match &record.body {
        Body::Boundary(boundary) => (&boundary.text, &boundary.spliced),
        _ => unreachable!(),
    }
}

fn text(lines: std::ops::Range<usize>) -> Block {
    let line = |n| format!("line {n} of a section that grows while the session goes on");
    Block::text(&lines.map(line).collect::<Vec<_>>().join("\n"))
}

/// Blocks of a record, from what a session knows.
fn made(texts: &Texts, record: &Record) -> (Vec<Block>, usize) {
    let mut missing = 0;
    let (_, spliced) = parts(record);
    let blocks = spliced.iter().map(|runs| texts.block(runs, &mut missing));
    (blocks.collect(), missing)
}

#[test]
fn lines_that_were_written_are_named() {
    let mut texts = Texts::default();
    let first = boundary(&texts, 3, &[text(0..50), Block::text("")]);
    texts.learn(&first, &place(3));
    assert_eq!(parts(&first).0.len(), 51);
    // A line less in front, three more behind, in another block than before.
    let blocks = [Block::text("short\n\nlines"), text(1..53)];
    let second = boundary(&texts, 9, &blocks);
    texts.learn(&second, &place(9));
    let (written, spliced) = parts(&second);
    assert_eq!(written.len(), 6);
    let own = Seq::new(9);
    assert_eq!(spliced[0], [LineRun(own, 0, 3)]);
    assert_eq!(
        spliced[1],
        [LineRun(Seq::new(3), 1, 49), LineRun(own, 3, 3)]
    );
    assert_eq!(made(&texts, &second), (blocks.to_vec(), 0));
    assert_eq!(made(&texts, &first).0[0], text(0..50));
}

#[test]
fn a_run_names_the_record_that_wrote_its_lines() {
    let mut texts = Texts::default();
    for seq in 1..=5 {
        let record = boundary(&texts, seq, &[text(0..20)]);
        texts.learn(&record, &place(seq));
        let (written, spliced) = parts(&record);
        assert_eq!(written.len(), if seq == 1 { 20 } else { 0 });
        assert_eq!(spliced, [[LineRun(Seq::new(1), 0, 20)]]);
    }
}

/// Of a text of 100 lines five stay in use; the next boundary writes them again, and a resume
/// reads the old text no more.
#[test]
fn text_that_is_mostly_out_of_date_is_given_up() {
    let mut texts = Texts::default();
    let first = boundary(&texts, 1, &[text(0..100)]);
    texts.learn(&first, &place(1));
    let half = boundary(&texts, 2, &[text(40..120)]);
    assert_eq!(parts(&half).0.len(), 20, "half of it is in use");
    texts.learn(&half, &place(2));
    let few = boundary(&texts, 3, &[text(95..130)]);
    let (written, spliced) = parts(&few);
    assert_eq!(written.len(), 15, "five lines again, and ten new ones");
    assert!(spliced[0].iter().all(|run| run.0 != Seq::new(1)));
    texts.learn(&few, &place(3));
    assert_eq!(made(&texts, &few), (vec![text(95..130)], 0));
}

#[test]
fn a_lost_text_costs_its_own_lines() {
    let mut texts = Texts::default();
    let first = boundary(&texts, 1, &[text(0..10)]);
    texts.learn(&first, &place(1));
    let second = boundary(&texts, 2, &[text(0..12)]);
    let mut resumed = Texts::default();
    resumed.learn(&second, &place(2));
    let (blocks, missing) = made(&resumed, &second);
    assert_eq!(missing, 1);
    let left = blocks[0].readable_text().unwrap();
    assert!(left.starts_with(LOST) && left.contains("line 11"), "{left}");
    // A forged run reaches behind the end, or round the largest number.
    let forged = [
        LineRun(Seq::new(2), 1, 9),
        LineRun(Seq::new(2), u32::MAX, u32::MAX),
    ];
    let mut missing = 0;
    resumed.block(&forged, &mut missing);
    assert_eq!(missing, 2);
}

#[test]
fn a_block_that_could_not_be_made_again_stays_whole() {
    let texts = Texts::default();
    let escaped = Block::parse(&Bytes::from_static(
        br#"{"type":"text","text":"caf\u00e9"}"#,
    ))
    .unwrap();
    let marked = Block::parse(&Bytes::from_static(
        br#"{"type":"text","text":"a","citations":[]}"#,
    ))
    .unwrap();
    for block in [escaped, marked] {
        let blocks = [text(0..2), block];
        let spliced = texts.splice(Seq::new(1), &blocks);
        assert_eq!((spliced.whole, spliced.blocks), (blocks.to_vec(), vec![]));
    }
}
