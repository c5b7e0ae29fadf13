//! How the service is made to misbehave, while it runs.

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// What is switched on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// The same key pays again.
    pub forget_keys: bool,
    /// The next payment is made, and the service ends before it answers.
    pub die_after_effect: bool,
    /// Where requests to pay stop until this is switched off.
    pub stall: Option<Point>,
}

/// A place on the way of a request to pay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Point {
    BeforeEffect,
    AfterEffect,
}

pub struct Switches(watch::Sender<Settings>);

impl Switches {
    pub fn new(settings: Settings) -> Self {
        Self(watch::Sender::new(settings))
    }

    pub fn now(&self) -> Settings {
        *self.0.borrow()
    }

    pub fn set(&self, settings: Settings) {
        self.0.send_replace(settings);
    }

    /// Goes past this point, as soon as nothing stalls there.
    pub async fn pass(&self, point: Point) {
        // Fails only without a sender, and `self` is one.
        let _ = self.0.subscribe().wait_for(|settings| settings.stall != Some(point)).await;
    }
}
