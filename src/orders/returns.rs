//! Returns of delivered orders: owners ask for them, staff accept or refuse. The goods are received together with their
//! refund, in `payments/staff_refunds.rs`. The rule is [`domain::returns::decide`].

use jiff::Timestamp;
use tracing::info;

use super::{OrderRefusal, Orders};
use domain::returns::{ReturnRefusal, ReturnStep};
use domain::{GoodsReturn, Order, OrderId, OrderStatus, Parcel, SaleId, ShopSettings, UserId};
use store::{ParcelActor, StoreError};

impl Orders {
    /// The return of an order. Orders that were never paid are not looked up.
    pub async fn goods_return(&self, of: &Order) -> Result<Option<GoodsReturn>, StoreError> {
        match of.status {
            OrderStatus::Paid | OrderStatus::RefundPending | OrderStatus::Refunded => {
                self.store.orders().return_of(of.id).await
            }
            _ => Ok(None),
        }
    }

    /// Until when the owner of an order with this parcel may ask for a return. `None` if it is not delivered.
    pub fn returnable_until(
        &self,
        status: OrderStatus,
        parcel: Option<&Parcel>,
        shop: &ShopSettings,
    ) -> Option<Timestamp> {
        self.returns.until(parcel, shop.zone()).filter(|_| status == OrderStatus::Paid)
    }

    /// A step of the owner of an order.
    pub async fn move_own_return(
        &self,
        user: UserId,
        (sale, id): (SaleId, OrderId),
        step: &ReturnStep,
    ) -> Result<Result<(), ReturnRefusal>, OrderRefusal> {
        let order = self.find_persisted(user, sale, id).await?;
        Ok(self.move_return(order.id, step, ParcelActor::Owner(user)).await?)
    }

    /// A step of a member of the staff. `by` is the account of `actor`.
    pub async fn answer_return(
        &self,
        order: &Order,
        step: &ReturnStep,
        (by, actor): (UserId, &str),
    ) -> Result<Result<(), ReturnRefusal>, StoreError> {
        if order.user_id == by {
            return Ok(Err(ReturnRefusal::OwnOrder));
        }
        self.move_return(order.id, step, ParcelActor::Staff(actor)).await
    }

    async fn move_return(
        &self,
        id: OrderId,
        step: &ReturnStep,
        actor: ParcelActor<'_>,
    ) -> Result<Result<(), ReturnRefusal>, StoreError> {
        let shop = self.store.shop_settings().get().await?;
        let outcome = self.store.orders().move_return(id, step, actor, (&self.returns, &shop)).await?;
        info!(order = %id, ?actor, ?outcome, "return asked to move");
        Ok(outcome)
    }
}
