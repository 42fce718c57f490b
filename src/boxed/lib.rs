//! [`boxed`]: futures that are compiled in the crate that defines them.
//!
//! The body of an `async fn` is compiled in each crate that awaits it, together with all that it awaits itself. A boxed
//! future has one type, so its body is compiled once, where it is written. A call costs an allocation.

use proc_macro::TokenStream;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Block, Error, FnArg, ImplItem, Item, Lifetime, ParenthesizedGenericArguments, Receiver, ReceiverKind, ReturnType,
    Signature, TypeFnPtr, TypeImplTrait, TypeReference, Visibility, parse_macro_input, parse_quote,
};

/// Boxes the future of an `async fn`, or of every `pub async fn` in an `impl` block. The future is `Send`, and borrows
/// what its arguments borrow. Functions with type parameters stay as they are: they are compiled for each caller anyway.
#[proc_macro_attribute]
pub fn boxed(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = parse_macro_input!(item as Item);
    match &mut item {
        Item::Fn(function) => box_future(&mut function.sig, &mut function.block),
        Item::Impl(block) => {
            for item in &mut block.items {
                if let ImplItem::Fn(method) = item
                    && matches!(method.vis, Visibility::Public(_))
                {
                    box_future(&mut method.sig, &mut method.block);
                }
            }
        }
        other => return Error::new(other.span(), "only for functions and impl blocks").into_compile_error().into(),
    }
    item.into_token_stream().into()
}

fn box_future(signature: &mut Signature, body: &mut Block) {
    let mut boxed = signature.clone();
    let mut elided = Elided::default();
    boxed.inputs.iter_mut().for_each(|input| elided.visit_fn_arg_mut(input));
    if signature.asyncness.is_none() || elided.is_generic || signature.generics.type_params().next().is_some() {
        return;
    }
    let borrowed: Vec<Lifetime> =
        signature.generics.lifetimes().map(|one| one.lifetime.clone()).chain(elided.named.iter().cloned()).collect();
    let output = match &signature.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, output) => quote!(#output),
    };
    boxed.asyncness = None;
    for name in elided.named {
        boxed.generics.params.push(parse_quote!(#name));
    }
    boxed.generics.params.push(parse_quote!('future));
    let bounds = boxed.generics.make_where_clause();
    bounds.predicates.extend(borrowed.iter().map(|one| -> syn::WherePredicate { parse_quote!(#one: 'future) }));
    if matches!(boxed.inputs.first(), Some(FnArg::Receiver(_))) {
        bounds.predicates.push(parse_quote!(Self: 'future));
    }
    boxed.output = parse_quote! {
        -> ::core::pin::Pin<::std::boxed::Box<
            dyn ::core::future::Future<Output = #output> + ::core::marker::Send + 'future
        >>
    };
    // The first statement never runs: it tells the compiler the type for every `return` and `?`.
    let statements = &body.stmts;
    *body = parse_quote! {{
        ::std::boxed::Box::pin(async move {
            if let ::core::option::Option::Some(output) = ::core::option::Option::None::<#output> {
                return output;
            }
            #(#statements)*
        })
    }};
    *signature = boxed;
}

/// Names the elided lifetimes of arguments.
#[derive(Default)]
struct Elided {
    named: Vec<Lifetime>,
    /// Whether an argument is an `impl Trait`.
    is_generic: bool,
}

impl Elided {
    fn name(&mut self) -> Lifetime {
        let name = Lifetime::new(&format!("'arg{}", self.named.len()), proc_macro2::Span::mixed_site());
        self.named.push(name.clone());
        name
    }
}

impl VisitMut for Elided {
    fn visit_receiver_mut(&mut self, receiver: &mut Receiver) {
        match &mut receiver.kind {
            ReceiverKind::Reference(_, lifetime, _) if lifetime.is_none() => *lifetime = Some(self.name()),
            _ => visit_mut::visit_receiver_mut(self, receiver),
        }
    }

    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if reference.lifetime.is_none() {
            reference.lifetime = Some(self.name());
        }
        visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.name();
        }
    }

    fn visit_type_impl_trait_mut(&mut self, _: &mut TypeImplTrait) {
        self.is_generic = true;
    }

    // The elided lifetimes of `fn(&T)` and `dyn Fn(&T)` are their own.
    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {}
}
