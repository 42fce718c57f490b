//! Files and folders of the data directory that only the user of the program may read, whatever its umask. Rendered
//! pages are not private: nginx reads them from disk.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FOLDER_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;

/// Creates a folder, if it is missing. If an earlier version left it open to others, closes it.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    if folder.metadata()?.permissions().mode() & 0o077 != 0 {
        // A folder of another user, such as a mounted volume, stays as its owner made it.
        let _ = std::fs::set_permissions(folder, Permissions::from_mode(FOLDER_MODE));
    }
    Ok(())
}

/// Creates a file, or empties the one that is there.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_folders_and_files_are_closed_to_others() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("private");
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        create_folder(&folder).unwrap();
        create(&folder.join("file")).unwrap();
        assert_eq!((mode(&folder), mode(&folder.join("file"))), (0o700, 0o600));
        std::fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
        create_folder(&folder).unwrap();
        assert_eq!(mode(&folder), 0o700, "of an earlier version");
    }
}
