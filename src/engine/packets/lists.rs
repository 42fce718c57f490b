//! Lists of packets for users and staff, page by page. Each packet comes with the names of its giver and its luckiest
//! user.

use super::Packets;
use domain::packet::{Giver, Packet, ShareClaim};
use domain::{PacketId, Page, UserId};
use store::{PacketClaim, StoreError};

/// Why a page of packets cannot be returned.
#[derive(Debug, thiserror::Error)]
pub enum PacketPageError {
    /// The packet that the cursor names is not in the list.
    #[error("unknown cursor")]
    UnknownCursor,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A packet with the names of its giver and its luckiest user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketView {
    pub packet: Packet,
    /// `None` for the shop and for deleted accounts.
    pub giver: Option<String>,
    /// The name of the luckiest user, once the packet is settled.
    pub luckiest: Option<String>,
}

impl Packets {
    /// A packet with names; `None` when it does not exist.
    pub async fn view(&self, id: PacketId) -> Result<Option<PacketView>, StoreError> {
        let Some(packet) = self.store.packets().get(id).await? else { return Ok(None) };
        Ok(self.with_names(vec![packet]).await?.pop())
    }

    /// The claims on a packet, latest first. The page begins after the claim on share `before`.
    pub async fn claims(
        &self,
        id: PacketId,
        before: Option<i64>,
        limit: usize,
    ) -> Result<Page<PacketClaim, i64>, StoreError> {
        let claims = self.store.packets().claims(id, before, limit as i64 + 1).await?;
        Ok(Page::cut(claims, limit, |claim| claim.claim.share))
    }

    /// The packets that a user or the shop gave, newest first, beginning after packet `before`.
    pub async fn given(
        &self,
        giver: Giver,
        before: Option<PacketId>,
        limit: usize,
    ) -> Result<Page<PacketView, PacketId>, PacketPageError> {
        // A packet of another giver is an unknown cursor too, so cursors cannot be used to find packets.
        let before = self.cursor(before, |packet| packet.giver == giver).await?;
        let packets = self.store.packets().given(giver, before.as_ref(), limit as i64 + 1).await?;
        self.page_of(packets, limit).await
    }

    /// All packets, for the staff: newest first, beginning after packet `before`.
    pub async fn all(
        &self,
        before: Option<PacketId>,
        limit: usize,
    ) -> Result<Page<PacketView, PacketId>, PacketPageError> {
        let before = self.cursor(before, |_| true).await?;
        let packets = self.store.packets().list(before.as_ref(), limit as i64 + 1).await?;
        self.page_of(packets, limit).await
    }

    /// The shares that a user claimed, newest first, beginning after the share of packet `before`.
    pub async fn received(
        &self,
        user: UserId,
        before: Option<PacketId>,
        limit: usize,
    ) -> Result<Page<(ShareClaim, PacketView), PacketId>, PacketPageError> {
        let mark = match before {
            Some(id) => {
                let claim = self.store.packets().claim_of(id, user).await?.ok_or(PacketPageError::UnknownCursor)?;
                Some((claim.claimed_at, id))
            }
            None => None,
        };
        let received = self.store.packets().received(user, mark, limit as i64 + 1).await?;
        let (claims, packets): (Vec<ShareClaim>, Vec<Packet>) = received.into_iter().unzip();
        let views = self.with_names(packets).await?;
        Ok(Page::cut(claims.into_iter().zip(views).collect(), limit, |(claim, _)| claim.packet_id))
    }

    /// The packet after which a page begins. An error if it is not in the list.
    async fn cursor(
        &self,
        id: Option<PacketId>,
        is_listed: impl Fn(&Packet) -> bool,
    ) -> Result<Option<Packet>, PacketPageError> {
        let Some(id) = id else { return Ok(None) };
        let packet = self.store.packets().get(id).await?.filter(is_listed);
        packet.map(Some).ok_or(PacketPageError::UnknownCursor)
    }

    async fn page_of(&self, packets: Vec<Packet>, limit: usize) -> Result<Page<PacketView, PacketId>, PacketPageError> {
        Ok(Page::cut(self.with_names(packets).await?, limit, |view| view.packet.id))
    }

    async fn with_names(&self, packets: Vec<Packet>) -> Result<Vec<PacketView>, StoreError> {
        let users = packets.iter().flat_map(|p| [p.giver.user(), p.best.map(|(user, _)| user)]).flatten();
        let names = self.store.accounts().usernames(&users.collect::<Vec<_>>()).await?;
        let views = packets.into_iter().map(|packet| PacketView {
            giver: packet.giver.user().and_then(|user| names.get(&user).cloned()),
            luckiest: packet.best.and_then(|(user, _)| names.get(&user).cloned()),
            packet,
        });
        Ok(views.collect())
    }
}
