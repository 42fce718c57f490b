pub mod api;
pub mod poster;
pub mod poster_view;
pub mod token;
