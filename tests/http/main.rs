//! Does the server answer strangers as HTTP and its own contract say?
mod transport;
