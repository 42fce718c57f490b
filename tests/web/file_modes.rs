//! Who may read the files of the data directory, on the embedded rung.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::*;
use testing::samples::png;

/// Every file below a folder, with its mode. Rendered pages are left out, because nginx reads them.
fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, metadata) = (entry.path(), entry.metadata().unwrap());
        match metadata.is_dir() {
            true if path.ends_with("pages") => {}
            true => modes(&path, found),
            false => found.push((path.display().to_string(), metadata.permissions().mode() & 0o777)),
        }
    }
}

#[tokio::test]
async fn files_of_the_data_directory_are_readable_by_their_owner_only() {
    open_shop!(shop, admin);
    let path = format!("/api/admin/goods/{}/image", admin.new_goods().await);
    assert_eq!(admin.send("PUT", &path, &[("content-type", "image/png")], png(64, 64)).await.status, 200);
    let mut found = Vec::new();
    modes(shop.dir.path(), &mut found);
    for part in ["seckill.sqlite", "secret", "uploads"] {
        assert!(found.iter().any(|(file, _)| file.contains(part)), "{part}: {found:?}");
    }
    let open: Vec<_> = found.iter().filter(|(_, mode)| mode & 0o077 != 0).collect();
    assert!(open.is_empty(), "{open:?}");
}
