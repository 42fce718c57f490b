//! What the extractors of a handler tell about its request.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Uri};
use schemars::JsonSchema;

use crate::document::Operation;
use crate::extract::program::{Caller, ProgramScope};
use crate::extract::{
    AskingPage, ClientAddress, ClientDevice, Json, PathIds, PayingPhone, Permission, Query, SalePath, SignedIn, Staff,
    Visitor,
};
use crate::{Code, Repeatable};
use domain::SaleId;

/// An extractor that describes its part of the request.
pub trait Described {
    fn describe(operation: &mut Operation<'_>);
}

/// The extractors of one handler, as axum groups them.
pub trait DescribedArguments {
    fn describe(operation: &mut Operation<'_>);
}

impl DescribedArguments for ((),) {
    fn describe(_: &mut Operation<'_>) {}
}

macro_rules! of_all_parts {
    ($($part:ident)+) => {
        /// The first type says how axum calls the handler.
        impl<Call, $($part: Described),+> DescribedArguments for (Call, $($part,)+) {
            fn describe(operation: &mut Operation<'_>) {
                $($part::describe(operation);)+
            }
        }

        impl<$($part: Described),+> Described for ($($part,)+) {
            fn describe(operation: &mut Operation<'_>) {
                $($part::describe(operation);)+
            }
        }
    };
}

of_all_parts! { A }
of_all_parts! { A B }
of_all_parts! { A B C }
of_all_parts! { A B C D }
of_all_parts! { A B C D E }
of_all_parts! { A B C D E F }

macro_rules! silent {
    ($($part:ty),+) => {
        $(impl Described for $part {
            fn describe(_: &mut Operation<'_>) {}
        })+
    };
}

// What programs need not know, or what the operation's row says: a body that the handler reads itself.
silent! { AskingPage, Body, ClientAddress, ClientDevice, HeaderMap, PayingPhone, Request, Uri, Visitor }

impl<S> Described for State<S> {
    fn describe(_: &mut Operation<'_>) {}
}

macro_rules! described {
    ($($part:ty $(where $of:ident: $bound:ident)? => |$operation:ident| $told:expr;)+) => {
        $(impl$(<$of: $bound>)? Described for $part {
            fn describe($operation: &mut Operation<'_>) {
                $told;
            }
        })+
    };
}

described! {
    SignedIn => |operation| {
        operation.session();
        operation.refuses(&[Code::NotSignedIn])
    };
    Staff<P> where P: Permission => |operation| {
        operation.session();
        operation.token(P::SCOPE);
        operation.refuses(&[Code::NotFound, Code::NotAllowed, Code::MustChangePassword, Code::SecondFactorRequired])
    };
    Caller<S> where S: ProgramScope => |operation| operation.token(S::SCOPE);
    Json<T> where T: JsonSchema => |operation| operation.body::<T>();
    Query<T> where T: JsonSchema => |operation| operation.query::<T>();
    PathIds<T> where T: JsonSchema => |operation| {
        operation.path::<T>();
        operation.refuses(&[Code::NotFound])
    };
    SalePath => |operation| {
        operation.path::<SaleId>();
        operation.refuses(&[Code::NoSuchSale])
    };
    Repeatable => |operation| operation.repeatable();
}
