//! Decisions about refunds and packets. Who decides needs the permission for what is decided.

use domain::RefundKind;
use orders::support::StaffActionReason;
use payments::staff_refunds::DecisionAnswer;
use store::Approval;
use web::Shop;
use web::extract::session::{DecideApprovals, ManageSales, Staff, SupportShoppers};
use web::problem::{Code, Problem};

type Decider = Staff<DecideApprovals>;

fn check(staff: &Decider, of: &Approval) -> Result<(), Problem> {
    let may = match of.kind {
        RefundKind::Packet => staff.may::<ManageSales>(),
        RefundKind::Order | RefundKind::Part | RefundKind::Case => staff.may::<SupportShoppers>(),
    };
    if may { Ok(()) } else { Err(Code::NotAllowed.into()) }
}

pub async fn approve(shop: &Shop, staff: &Decider, of: &Approval) -> Result<DecisionAnswer, Problem> {
    check(staff, of)?;
    let by = staff.session.user_id;
    if of.kind != RefundKind::Packet {
        return Ok(shop.staff_refunds.approve(of, by, staff.actor()).await?);
    }
    if of.requested_by == by {
        return Ok(DecisionAnswer::OwnRequest);
    }
    let outcome = shop.packets.approve(of, by, staff.actor()).await?;
    Ok(shop.staff_refunds.answer(outcome).await?)
}

pub async fn decline(
    shop: &Shop,
    staff: &Decider,
    of: &Approval,
    reason: &StaffActionReason,
) -> Result<DecisionAnswer, Problem> {
    check(staff, of)?;
    Ok(shop.staff_refunds.decline(of, staff.session.user_id, reason.by(staff.actor())).await?)
}
