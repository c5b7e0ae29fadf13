//! SHA-256 of the canonical form of tool and args.
