//! The file of tools: read, with what it refers to, and what is wrong with it as a person mends it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exit::{Exit, Failure};
use crate::engine::tools::declared::{self, Declared, Surroundings};
use crate::engine::tools::{Registry, Tool};

/// Reads the tools that a file declares. Nothing is started and nobody is asked anything.
///
/// # Errors
/// [`Exit::Config`] with every line that is wrong.
pub(super) fn load(path: &Path) -> Result<Vec<Arc<Declared>>, Failure> {
    let refused = |problem: String| Failure::new(Exit::Config, problem);
    let text = std::fs::read_to_string(path).map_err(|problem| {
        refused(format!("the file of tools {} cannot be read: {problem}", path.display()))
    })?;
    let around = Around { folder: path.parent().unwrap_or(Path::new("")).to_owned() };
    let declared = declared::parse(&text, &around).map_err(|faults| {
        let lines: Vec<_> = faults.iter().map(|fault| format!("{}:{fault}", path.display())).collect();
        refused(lines.join("\n"))
    })?;
    Ok(declared.into_iter().map(Arc::new).collect())
}

/// Adds the tools of a file, if there is one, to those of the program; a declared one takes the place of one of the same name.
pub(super) fn add(path: Option<&PathBuf>, mut registry: Registry) -> Result<Registry, Failure> {
    for tool in path.map_or(Ok(Vec::new()), |path| load(path))? {
        let name = tool.name().to_owned();
        registry
            .register(tool)
            .map_err(|problem| Failure::new(Exit::Config, format!("{name}: {problem}")))?;
    }
    Ok(registry)
}

/// This process and the folder of the file.
struct Around {
    folder: PathBuf,
}

impl Surroundings for Around {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn read(&self, path: &Path) -> io::Result<String> {
        std::fs::read_to_string(self.folder.join(path))
    }
}
