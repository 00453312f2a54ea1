//! Files are laid over each other, and every value knows where it came from.

use super::*;
use crate::listen::Listen;

#[test]
fn later_files_win_key_by_key() {
    let over = "[limits]\nmemory = \"128 MiB\"\n[sources.pos]\nlisten = \"unix:/over\"\n";
    let base = format!("{SOURCE}[limits]\nmemory = \"64 MiB\"\nconnections = 9\n");
    let loaded = parse_all(&[("/e/v.toml", &base), ("/e/conf.d/10.toml", over)]).unwrap();
    assert_eq!(loaded.config.limits.memory, Size::mib(128));
    assert_eq!(loaded.config.limits.connections, 9);
    let endpoint = loaded.config.sources[0].kind.endpoint().unwrap();
    assert_eq!(endpoint.listen, Listen::Unix("/over".into()));
    assert_eq!(loaded.origin("limits.memory").to_string(), "/e/conf.d/10.toml:2");
    assert_eq!(loaded.origin("limits.connections").to_string(), "/e/v.toml:6");
    assert_eq!(loaded.origin("limits.disk").to_string(), "default");
    let shown = |key: &str| loaded.settings.iter().find(|s| s.key == key).map(Setting::json);
    assert_eq!(shown("limits.memory"), Some("128 MiB".into()));
    assert_eq!(shown("limits.connections"), Some(9.into()));
    assert_eq!(shown("instance"), Some("box".into()));
    assert_eq!(shown("model.public-key"), Some(serde_json::Value::Null));
}

#[test]
fn a_fault_names_the_file_it_stands_in() {
    let problems = parse_all(&[("/e/v.toml", SOURCE), ("/e/conf.d/10.toml", "[limits]\nmemory = 1")]).unwrap_err();
    assert_eq!(problems.0.len(), 1);
    assert!(problems.to_string().starts_with("/e/conf.d/10.toml:2:10: "), "{problems}");
}

#[test]
fn a_path_to_read_starts_at_the_folder_of_its_file() {
    let over = "[model]\nbundle = \"current\"\n";
    let loaded = parse_all(&[("/e/v.toml", SOURCE), ("/e/conf.d/10.toml", over)]).unwrap();
    assert_eq!(loaded.config.model.bundle, Path::new("/e/conf.d/current"));
}

#[test]
fn every_default_is_what_the_definitions_say() {
    let loaded = parse_one(SOURCE).unwrap();
    let config = &loaded.config;
    assert_eq!(config.instance, "box");
    assert_eq!(config.state_dir, Path::new("/var/lib/verdictd"));
    assert_eq!(config.limits.memory, Size::mib(64));
    assert_eq!(config.limits.disk, Size::gib(4));
    assert_eq!(config.limits.event, Size::kib(256));
    assert_eq!(config.limits.request, Size::mib(8));
    assert_eq!(config.dedup, Dedup { window: Period::days(7), when_full: WhenFull::Shorten });
    assert_eq!(config.model.bundle, Path::new("/var/lib/verdictd/models/card-fraud"));
    assert_eq!(config.admin.listen.to_string(), "unix:/run/verdictd/admin.sock");
    assert_eq!(config.admin.socket_mode, 0o660);
    let event = &config.sources[0].event;
    assert_eq!((event.id.to_string(), event.time.pointer.to_string()), ("/id".to_owned(), "/time".to_owned()));
    assert!(!event.id_given);
    assert_eq!(event.source, SourceMapping::Name);
    // No fault in any default: a faulty one would be left out in silence.
    for table in TABLES.iter().filter(|t| t.kind.is_empty() || (t.path == "sources.NAME" && t.kind == "http")) {
        for key in table.keys {
            let path = match table.path {
                "" => key.name.to_owned(),
                path => format!("{}.{}", path.replace("NAME", "pos"), key.name),
            };
            let is_table = matches!(key.kind, Kind::Table(_));
            assert!(is_table || loaded.settings.iter().any(|s| s.key == path), "{path} is read");
        }
    }
}

#[test]
fn variables_of_the_environment_are_put_in() {
    let loaded =
        parse_one(&format!("instance = \"edge-${{SITE}}\"\nstate-dir = \"${{DIR:-/srv/v}}\"\n{SOURCE}")).unwrap();
    assert_eq!(loaded.config.instance, "edge-north");
    assert_eq!(loaded.config.state_dir, Path::new("/srv/v"));
}

#[test]
fn a_key_is_a_pointer_or_several_or_hashed() {
    let key = |toml: &str| {
        let loaded = parse_one(&format!("{SOURCE}event = {{ key = {toml} }}")).unwrap();
        loaded.config.sources[0].event.key.clone()
    };
    let pointers = |texts: &[&str], file: Option<&str>| KeyMapping::Pointers {
        pointers: texts.iter().map(|text| crate::event::Pointer::parse(text).unwrap()).collect(),
        hmac_key_file: file.map(Into::into),
    };
    assert_eq!(key("\"/PAN\""), pointers(&["/PAN"], None));
    assert_eq!(key("[\"/a\", \"/b/c\"]"), pointers(&["/a", "/b/c"], None));
    let hashed = key("{ pointer = \"/PAN\", hmac-key-file = \"pan.key\" }");
    assert_eq!(hashed, pointers(&["/PAN"], Some("/etc/v/pan.key")));
    assert_eq!(key("\"line-7\""), KeyMapping::Fixed("line-7".to_owned()));
}

#[test]
fn a_source_is_its_name_a_pointer_or_a_fixed_text() {
    for (toml, expected) in [
        ("\"/till\"", SourceMapping::Pointer(crate::event::Pointer::parse("/till").unwrap())),
        ("\"shop-7\"", SourceMapping::Fixed("shop-7".to_owned())),
    ] {
        let loaded = parse_one(&format!("{SOURCE}event = {{ source = {toml} }}")).unwrap();
        assert_eq!(loaded.config.sources[0].event.source, expected);
    }
}

#[test]
fn conf_d_is_read_in_name_order_and_named_files_are_looked_at() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("verdictd.toml");
    std::fs::write(&file, format!("{SOURCE}token-file = \"token\"\n")).unwrap();
    std::fs::create_dir(dir.path().join("conf.d")).unwrap();
    for (name, text) in [
        ("20.toml", "[dedup]\nwindow = \"2 d\""),
        ("10.toml", "[dedup]\nwindow = \"1 d\""),
        (".30.toml", "broken"),
        ("README", "no config"),
    ] {
        std::fs::write(dir.path().join("conf.d").join(name), text).unwrap();
    }
    let problems = load(&file).unwrap_err();
    assert_eq!(problems.0.len(), 1, "{problems}");
    assert!(problems.to_string().contains("sources.pos.token-file: there is no file"), "{problems}");

    std::fs::write(dir.path().join("token"), "two words\n").unwrap();
    assert!(load(&file).unwrap_err().to_string().contains("expected one line with a token"));

    std::fs::write(dir.path().join("token"), "s3cret-0123456789\n").unwrap();
    let loaded = load(&file).unwrap();
    assert_eq!(loaded.config.dedup.window, Period::days(2));
    assert_eq!(loaded.files.len(), 3);
    // Written with the usual mode, it can be read by everyone: worth a warning, not an error.
    assert!(loaded.warnings.iter().any(|w| w.key == "sources.pos.token-file"), "{:?}", loaded.warnings);
}

#[test]
fn a_missing_config_says_so() {
    let problems = load(Path::new("/no/such/verdictd.toml")).unwrap_err();
    assert_eq!(problems.to_string(), "/no/such/verdictd.toml: cannot be read: No such file or directory (os error 2)");
}
