//! The forms that consumers parse.

use super::*;

const SHA: [u8; 32] = [0xab; 32];

fn verdict() -> Verdict<'static> {
    Verdict {
        sequence: 41,
        source: "pos",
        id: "288063",
        key: Some("3961"),
        time_us: 1_525_134_011_000_000,
        decision: "block",
        score: Some(f64::from(0.9731_f32)),
        reasons: vec!["TX_AMOUNT"],
        model: "card-fraud@2018.07",
        model_sha256: &SHA,
        decided_ms: 1_795_968_000_120,
    }
}

fn text(write: impl Fn(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_json_form_is_one_line_with_members_in_order() {
    let sha = "ab".repeat(32);
    assert_eq!(
        text(|out| write_json(&verdict(), out)),
        format!(
            "{{\"source\":\"pos\",\"id\":\"288063\",\"key\":\"3961\",\"time\":\"2018-05-01T00:20:11Z\",\
             \"decision\":\"block\",\"score\":0.9731,\"reasons\":[\"TX_AMOUNT\"],\"model\":\"card-fraud@2018.07\",\
             \"model-sha256\":\"{sha}\",\"sequence\":41,\"decided\":\"2026-11-29T16:00:00.120Z\"}}"
        )
    );
}

#[test]
fn all_members_are_the_json_form_and_some_are_a_part_of_it() {
    let bare = Verdict { key: None, score: None, reasons: vec![], ..verdict() };
    for verdict in [verdict(), bare] {
        assert_eq!(text(|out| write_members(&verdict, |_| true, out)), text(|out| write_json(&verdict, out)));
    }
    let some = text(|out| write_members(&verdict(), |m| matches!(m, Member::Key | Member::Sequence), out));
    assert_eq!(some, "{\"key\":\"3961\",\"sequence\":41}");
    for member in Member::ALL {
        assert_eq!(Member::of_name(member.name()), Some(member));
    }
}

#[test]
fn what_is_not_there_is_null_or_left_out() {
    let verdict = Verdict { key: None, score: None, reasons: vec![], ..verdict() };
    let json: serde_json::Value = serde_json::from_str(&text(|out| write_json(&verdict, out))).unwrap();
    assert!(json.get("key").is_none());
    assert!(json["score"].is_null());
    assert_eq!(json["reasons"], serde_json::json!([]));
}

#[test]
fn a_score_reads_back_exactly_even_where_it_is_no_f32() {
    for score in [0.1, 1.0, 1e-9, f64::from(0.1_f32), 5e-324, f64::MAX] {
        let verdict = Verdict { score: Some(score), ..verdict() };
        let json: serde_json::Value = serde_json::from_str(&text(|out| write_json(&verdict, out))).unwrap();
        let read: f64 = json["score"].to_string().parse().unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::float_cmp)]
        let same = read == score || read as f32 == score as f32 && f64::from(score as f32) == score;
        assert!(same, "{score} became {read}");
    }
}

#[test]
fn the_cloud_events_form_holds_the_same_verdict() {
    let json: serde_json::Value = serde_json::from_str(&text(|out| write_cloud_event(&verdict(), out))).unwrap();
    assert_eq!(json["type"], VERDICT_TYPE);
    assert_eq!((&json["id"], &json["source"], &json["subject"]), (&"288063".into(), &"pos".into(), &"3961".into()));
    let data: serde_json::Value = serde_json::from_str(&text(|out| write_json(&verdict(), out))).unwrap();
    assert_eq!(json["data"], data);
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_json_string_that_reads_back(content in ".*") {
        let json = text(|out| write_json_string(&content, out));
        proptest::prop_assert_eq!(serde_json::from_str::<String>(&json).unwrap(), content);
    }
}
