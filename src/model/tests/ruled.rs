//! Lists and rules as parts of a bundle.

use super::*;
use crate::event::Field;
use std::fs;

const RULES: &str = r#"
[[list]]
name = "known"
file = "known.txt"
[[rule]]
when = "A > 2 and AA != 1 and W > 5"
decision = "block"
[[rule]]
when = "key in known"
decision = "allow"
[[feature]]
name = "W"
window = { count = true, key = "/c", over = "1 d" }
input = false
"#;

#[test]
fn a_bundle_holds_its_lists_and_rules() {
    let mut made = Made::new();
    made.manifest += RULES;
    let made = made.edit("from = \"/b\"\nmissing = \"nan\"", "from = \"/b\"\ntransform = [{ in-list = \"known\" }]");
    fs::write(made.path("known.txt"), "x\n5411\n").unwrap();
    let bundle = made.load().unwrap();
    assert_eq!((bundle.rules().counts(), bundle.rules().lists().len()), ((0, 2), 1));
    assert_eq!(bundle.columns().len(), 2, "what is for rules alone is no input");
    let note = "rule[0].when: AA is no feature, so the event's field of that name is read; did you mean A?";
    assert!(bundle.notes().any(|other| other == note), "{:?}", bundle.notes().collect::<Vec<_>>());
    // The feature looks up the same list.
    let (mut row, fields) = ([0.0; 2], [Field::Number(1.0), Field::Number(5_411.0), Field::Missing]);
    bundle.features().fill(&fields, "", None, &mut row).unwrap();
    assert_eq!(row.map(|x| x > 0.5), [true, true]);
}

#[test]
fn a_bundle_whose_rules_do_not_hold_together_is_refused_with_every_place() {
    let mut made = Made::new();
    made.manifest +=
        "[[rule]]\nwhen = \"'x' > 1\"\ndecision = \"block\"\n[[rule]]\nwhen = \"B and\"\ndecision = \"block\"\n";
    let refused = made.written_and_refused();
    for part in ["rule[0].when: line 1, column 7: expected a text, found 1", "rule[1].when: line 1, column 6"] {
        assert!(refused.contains(part), "{part} in {refused}");
    }
    // What a feature is, the model says: here a number.
    let mut made = Made::new();
    made.manifest += "[[rule]]\nwhen = \"A == 'x'\"\ndecision = \"block\"\n";
    let place = "rule[0].when: line 1, column 1: expected a text, found A, where the model takes numbers";
    assert!(made.written_and_refused().contains(place), "{}", made.refused());
    let mut made = Made::new();
    made.manifest += "[[list]]\nname = \"gone\"\nfile = \"gone.txt\"\n";
    assert!(made.written_and_refused().contains("list[0].file: "));
    let made = Made::new().edit("from = \"/b\"", "from = \"/b\"\ntransform = [{ in-list = \"gone\" }]");
    assert!(made.written_and_refused().contains("B: in-list: expected the name of a [[list]] (there is none)"));
}

#[test]
fn packing_takes_the_lists_beside_the_template_along() {
    let made = Made::new();
    made.write();
    let template = made.path("rest.toml");
    let rest = made.manifest.split_once("[decision]").unwrap().1;
    fs::write(&template, format!("[decision]{rest}{RULES}")).unwrap();
    let packing = Packing {
        file: made.path("model.safetensors"),
        name: "n".to_owned(),
        version: "1".to_owned(),
        serial: None,
        template: Some(template),
        parity: None,
        choice: Choice::default(),
        out: made.path("out"),
    };
    assert!(
        pack(&packing, &LoadOptions::default()).unwrap_err().to_string().contains("cannot read the file of a list")
    );
    assert!(!packing.out.exists(), "nothing is left of what did not load");
    fs::write(made.path("known.txt"), "x\n").unwrap();
    let packed = pack(&packing, &LoadOptions::default()).unwrap();
    assert_eq!(packed.bundle.rules().lists()[0].len(), 1);
    assert!(packing.out.join("known.txt").is_file());
}
