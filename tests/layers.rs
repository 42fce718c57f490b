//! The direction of imports. A module of the crate imports only modules that `src/lib.rs` declares below it. Modules in the
//! same folder do not import each other in a cycle, at any depth, in `src/` and in `benches/`.
//!
//! Imports in `#[cfg(test)]` modules do not count, because a test may use any module.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// One Rust file: its module path from the crate root, and its imports.
struct Source {
    module: Vec<String>,
    imports: BTreeSet<Vec<String>>,
}

type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn modules_import_only_modules_declared_below_them() {
    let order = declared(&fs::read_to_string("src/lib.rs").unwrap());
    let sources = read_sources("src");
    assert_eq!(upward(&order, &sources), Vec::<String>::new(), "src/lib.rs names the order of the layers");
}

#[test]
fn sibling_modules_have_no_import_cycle() {
    for root in ["src", "benches"] {
        let cycle = find_cycle(&sibling_graph(&read_sources(root)));
        assert_eq!(cycle, None, "an import cycle below {root}/");
    }
}

#[test]
fn upward_import_is_found() {
    let order = ["web", "store"].map(String::from);
    let sources =
        [source("store/sales.rs", "use crate::web::router;"), source("web/mod.rs", "use crate::store::Store;")];
    assert_eq!(upward(&order, &sources), ["store::sales imports web"]);
}

#[test]
fn import_cycle_is_found() {
    let sources = [
        source("store/orders.rs", "use super::payments::pay;"),
        source("store/payments.rs", "use crate::store::{orders::{self, Order}, Store};"),
        source("store/mod.rs", "mod orders;\nmod payments;"),
        source("store/orders/search.rs", "use super::Order;"),
    ];
    let cycle = find_cycle(&sibling_graph(&sources)).unwrap();
    assert_eq!(cycle, ["store::orders", "store::payments", "store::orders"]);
}

#[test]
fn imports_in_tests_and_comments_do_not_count() {
    let text =
        "// use crate::web::a;\nuse crate::clock::Clock;\n#[cfg(test)]\nmod tests {\n    use crate::web::b;\n}\n";
    let imports: Vec<_> = source("store/a.rs", text).imports.into_iter().collect();
    assert_eq!(imports, [["clock", "Clock"]]);
}

/// Every import of a module that is declared above the importing one.
fn upward(order: &[String], sources: &[Source]) -> Vec<String> {
    let rank = |name: &str| order.iter().position(|module| module == name);
    let mut found = BTreeSet::new();
    for source in sources {
        let Some(from) = source.module.first().and_then(|name| rank(name)) else { continue };
        for import in &source.imports {
            let to = rank(&import[0]).unwrap_or_else(|| panic!("src/lib.rs does not declare {}", import[0]));
            if to < from {
                found.insert(format!("{} imports {}", source.module.join("::"), import[0]));
            }
        }
    }
    found.into_iter().collect()
}

/// The public modules that a file declares, in order.
fn declared(text: &str) -> Vec<String> {
    let name = |line: &str| line.strip_prefix("pub mod ")?.strip_suffix(';').map(String::from);
    text.lines().filter_map(name).collect()
}

/// Imports between modules of the same folder: `a::b::c` importing `a::d::e` is an edge from `a::b` to `a::d`. Imports
/// between parent and child are no edges.
fn sibling_graph(sources: &[Source]) -> Graph {
    let mut graph = Graph::new();
    for Source { module, imports } in sources {
        for import in imports {
            let shared = module.iter().zip(import).take_while(|(one, other)| one == other).count();
            let is_module =
                sources.iter().any(|other| import.starts_with(&other.module) && other.module.len() > shared);
            if shared < module.len() && is_module {
                graph.entry(module[..=shared].join("::")).or_default().insert(import[..=shared].join("::"));
            }
        }
    }
    graph
}

/// One cycle, from a module back to itself.
fn find_cycle(graph: &Graph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| visit(graph, start, &mut Vec::new(), &mut done))
}

fn visit(graph: &Graph, at: &str, path: &mut Vec<String>, done: &mut BTreeSet<String>) -> Option<Vec<String>> {
    if let Some(begin) = path.iter().position(|step| step == at) {
        path.push(at.to_owned());
        return Some(path.split_off(begin));
    }
    if done.contains(at) {
        return None;
    }
    path.push(at.to_owned());
    let cycle = graph.get(at).into_iter().flatten().find_map(|next| visit(graph, next, path, done));
    path.pop();
    done.insert(at.to_owned());
    cycle
}

fn read_sources(root: &str) -> Vec<Source> {
    let mut files = Vec::new();
    list_files(Path::new(root), &mut files);
    assert!(!files.is_empty(), "no Rust files below {root}/");
    files
        .iter()
        .filter(|file| !file.components().any(|part| part.as_os_str() == "tests") && !file.ends_with("tests.rs"))
        .map(|file| {
            source(file.strip_prefix(base(root, file)).unwrap().to_str().unwrap(), &fs::read_to_string(file).unwrap())
        })
        .filter(|source| !source.module.is_empty())
        .collect()
}

/// The folder of the crate root: `src`, or the folder of one benchmark.
fn base(root: &str, file: &Path) -> PathBuf {
    let folder = file.components().take(2).collect::<PathBuf>();
    if root == "benches" && folder.is_dir() { folder } else { root.into() }
}

fn list_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list_files(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

fn source(file: &str, text: &str) -> Source {
    let mut module: Vec<String> = file.trim_end_matches(".rs").split('/').map(String::from).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    let code = without_tests_and_comments(text);
    let mut imports = BTreeSet::new();
    for (at, line) in lines_with_offsets(&code) {
        let statement = line.trim_start();
        if statement.starts_with("use ") || (statement.starts_with("pub") && statement.contains(" use ")) {
            let tree = code[at..].split(';').next().unwrap_or_default();
            flatten(&[], tree.split_once("use ").map_or("", |(_, tree)| tree), &mut imports);
        }
    }
    // Paths in expressions, such as `crate::config::sqlite_in(…)`.
    for (at, _) in code.match_indices("crate::") {
        let path: String = code[at..].chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect();
        imports.insert(path.trim_end_matches(':').split("::").map(String::from).collect());
    }
    let resolved = imports.iter().filter_map(|path| resolve(&module, path)).collect();
    Source { module, imports: resolved }
}

fn lines_with_offsets(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().map(|line| (line.as_ptr() as usize - text.as_ptr() as usize, line))
}

/// The code without comments, up to the first inline test module.
fn without_tests_and_comments(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let inline = |next: &&str| next.contains("mod ") && next.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(inline) {
            break;
        }
        code.push_str(line.split("//").next().unwrap_or_default());
        code.push('\n');
    }
    code
}

/// Adds every path of a `use` tree.
fn flatten(prefix: &[&str], tree: &str, paths: &mut BTreeSet<Vec<String>>) {
    let tree = tree.trim();
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or_default();
        let parts = prefix.iter().copied().chain(path.split("::")).map(str::trim).filter(|part| !part.is_empty());
        paths.insert(parts.map(String::from).collect());
        return;
    };
    let prefix: Vec<&str> =
        prefix.iter().copied().chain(head.trim().split("::").filter(|part| !part.is_empty())).collect();
    let group = group.rsplit_once('}').map_or(group, |(inner, _)| inner);
    let mut depth = 0;
    let mut begin = 0;
    for (at, c) in group.char_indices().chain([(group.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[begin..at].trim().is_empty() {
                    flatten(&prefix, &group[begin..at], paths);
                }
                begin = (at + 1).min(group.len());
            }
            _ => {}
        }
    }
}

/// A path from the crate's root; `None` for other crates.
fn resolve(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let mut base = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().saturating_sub(1)].to_vec(),
        _ => return None,
    };
    for part in rest {
        match part.as_str() {
            "super" => drop(base.pop()),
            "self" => {}
            name => base.push(name.to_owned()),
        }
    }
    (!base.is_empty()).then_some(base)
}
