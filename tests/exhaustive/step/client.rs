//! Clients: each sends its request as often as it likes, whatever it was told.

use callonce::domain::Command;
use callonce::domain::command::Submit;

use super::Step;
use crate::execute::Turn;
use crate::law::Law;
use crate::setup::Servers;
use crate::system::System;
use crate::world::{Seen, World};

pub fn offer(system: &System, world: &World, steps: &mut Vec<Step>) {
    for (client, state) in world.clients.iter().enumerate() {
        match state.carried_out {
            Some(_) => {
                steps.push(Step::Serve { client });
                // With one server, requests are lost when it crashes.
                if system.setup.servers == Servers::Many {
                    steps.push(Step::LoseRequest { client });
                }
            }
            None if world.up && state.sent < system.setup.sends => steps.push(Step::Send { client }),
            None => {}
        }
    }
}

/// The server does not look first: it takes the key to be free.
pub fn send(world: &mut World, client: usize) {
    let client = &mut world.clients[client];
    client.sent += 1;
    client.carried_out = Some((None, Seen::ABSENT));
}

pub fn serve(system: &System, world: &mut World, client: usize) {
    let Some((place, seen)) = world.clients[client].carried_out.take() else { return };
    let request = system.request(client, world.clients[client].sent);
    let submit = Submit { at: request.created_at, request: request.clone() };
    match world.turn(&system.setup, place, &seen, Command::Submit(submit)) {
        Turn::Conflict(holder) => {
            let now = world.calls[holder].now.clone();
            world.clients[client].carried_out = Some((Some(holder), now));
        }
        Turn::Appended(place) => told(system, world, client, place),
        Turn::Answered => told(system, world, client, place.expect("an absent call answers nothing")),
        Turn::Refused => {}
    }
}

/// The client learns which call its key leads to.
fn told(system: &System, world: &mut World, client: usize, place: usize) {
    let request = system.request(client, world.clients[client].sent);
    let known = world.calls[place].now.call.request().expect("it was created");
    if known.fingerprint != request.fingerprint {
        world.broken = Some(Law::L5);
    }
    if *world.clients[client].told.get_or_insert(place) != place {
        world.broken = Some(Law::L1);
    }
}
