//! Robots in URDF: what they become, what they are refused for, and that nothing makes the reader panic.

mod urdf {
    mod damage;
    mod details;
    mod hands;
    mod meaning;
    mod oracle;
    mod refusals;
    mod repairs;
}
