//! The model that is checked: a setup, the steps it allows, and what each leads to.

use std::sync::Arc;

use callonce::domain::call::Request;
use callonce::domain::id::Owner;
use callonce::domain::json::Canonical;
use callonce::domain::policy::Policy;
use callonce::testing::random_calls::{owner, policy, request_with};
use stateright::{Model, Property};

use crate::law::Law;
use crate::rank::rank;
use crate::setup::Setup;
use crate::step::{Step, client, downstream, server, worker};
use crate::world::World;

/// A setup, with what is made from it once.
pub struct System {
    pub setup: Setup,
    pub policy: Policy,
    /// Who holds the leases.
    pub owner: Owner,
    /// What the tool answers when it has happened.
    pub result: Canonical,
    /// What each client sends, turn by turn.
    requests: Vec<Vec<Arc<Request>>>,
    properties: fn() -> Vec<Property<System>>,
}

impl System {
    pub fn new(setup: Setup, properties: fn() -> Vec<Property<System>>) -> Self {
        let request = |client: usize, turn: u8| {
            let (key, amount) = setup.clients[client];
            // A new call id each time, as the server draws it.
            let id = client as u64 * 10 + u64::from(turn);
            request_with(id, &format!("k{key}"), "charge", &format!(r#"{{"amount":{amount}}}"#), None)
        };
        let turns = |client| (0..setup.sends).map(|turn| request(client, turn)).collect();
        Self {
            requests: (0..setup.clients.len()).map(turns).collect(),
            policy: Policy { max_attempts: setup.max_attempts, ..policy(true, setup.interrupted) },
            owner: owner("server"),
            result: Canonical::parse(r#"{"charged":7}"#).expect("it is canonical"),
            setup,
            properties,
        }
    }

    /// What `client` sent last.
    pub fn request(&self, client: usize, sent: u8) -> &Arc<Request> {
        &self.requests[client][usize::from(sent - 1)]
    }

    /// All that can happen next.
    pub fn steps(&self, world: &World, steps: &mut Vec<Step>) {
        if world.broken.is_none() {
            client::offer(self, world, steps);
            worker::offer(world, steps);
            downstream::offer(self, world, steps);
            server::offer(self, world, steps);
        }
    }
}

impl Model for System {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setup)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        self.steps(world, steps);
        if world.faults_left == 0 {
            steps.retain(|step| !step.is_fault(world));
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut world = before.clone();
        step.take(self, &mut world)?;
        if step.is_fault(before) {
            world.faults_left -= 1;
        } else if self.setup.without.is_none() && rank(&world) <= rank(before) {
            world.broken = Some(Law::L8);
        }
        Some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        (self.properties)()
    }
}
