//! The recorder: polls the cards, classifies time and stores it at each tick.
