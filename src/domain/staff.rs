//! What belongs to the staff: their roles, the filters that they saved, and the texts about the shop that they write.

use jiff::Timestamp;
use serde::Serialize;
use uuid::Uuid;

use crate::wire::wire_enum;
use crate::{Bilingual, Locale};

wire_enum! {
    /// What an account may do. All roles but `User` are staff.
    pub enum Role {
        User = "user",
        /// The owner: may do everything, including appointing others.
        Admin = "admin",
        /// Runs sales and maintains the catalogue.
        Operator = "operator",
        /// Helps shoppers with their orders and accounts.
        Support = "support",
        /// Reads everything and changes nothing.
        Viewer = "viewer",
    }
}

impl Role {
    pub fn is_staff(self) -> bool {
        self != Role::User
    }
}

wire_enum! {
    /// A list of the console.
    pub enum ConsoleList {
        Sales = "sales",
        Goods = "goods",
        Orders = "orders",
        Packets = "packets",
        Users = "users",
        Log = "log",
    }
}

impl ConsoleList {
    /// The path of the list.
    pub fn path(self) -> &'static str {
        match self {
            ConsoleList::Sales => "/admin",
            ConsoleList::Goods => "/admin/goods",
            ConsoleList::Orders => "/admin/orders",
            ConsoleList::Packets => "/admin/packets",
            ConsoleList::Users => "/admin/users",
            ConsoleList::Log => "/admin/log",
        }
    }

    /// The keys of the list's query that belong to a view. Cursors and notices do not.
    pub fn keys(self) -> &'static [&'static str] {
        match self {
            ConsoleList::Sales => &["q", "state"],
            ConsoleList::Goods => &["q", "category", "archived", "sort"],
            ConsoleList::Orders => {
                &["order", "user", "sale", "status", "parcel", "return", "held", "from", "to", "sort", "hide"]
            }
            ConsoleList::Packets => &["hide"],
            ConsoleList::Users => &["q", "sort", "hide"],
            ConsoleList::Log => &["actor", "action", "subject", "from", "to", "zone", "sort"],
        }
    }
}

/// A filter with its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedView {
    pub id: Uuid,
    pub list: ConsoleList,
    pub name: String,
    /// The list's query parameters in the order of [`ConsoleList::keys`], URL-encoded, without the language.
    pub query: String,
}

impl SavedView {
    /// Saved views of one member of the staff in one list.
    pub const MAX_PER_LIST: usize = 20;
    pub const MAX_NAME_CHARS: usize = 40;
    /// Length of the query in bytes.
    pub const MAX_QUERY: usize = 1000;
}

// Texts about the whole shop that staff write, such as terms and returns.

wire_enum! {
    /// The name of a text in its URL.
    pub enum ShopPageName {
        Returns = "returns",
        Contact = "contact",
        Terms = "terms",
        Privacy = "privacy",
        /// Name, address and tax number of the shop's owner. Receipts begin with it.
        Seller = "seller",
        /// The licence line of a business, and the licences of what it uses.
        Licence = "licence",
    }
}

/// One text in Markdown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShopPage {
    pub name: ShopPageName,
    pub text: Bilingual,
    /// Time of the last change. It increases with every change. `None` for a page that is not written yet.
    pub updated_at: Option<Timestamp>,
}

impl ShopPage {
    pub fn unwritten(name: ShopPageName) -> ShopPage {
        ShopPage { name, text: Bilingual::new("", ""), updated_at: None }
    }

    /// A page may be written in one language so far.
    pub fn is_written(&self, locale: Locale) -> bool {
        !self.text.get(locale).trim().is_empty()
    }

    /// Changes with every change of the page; 0 for one that is not written yet.
    pub fn version(&self) -> i64 {
        self.updated_at.map_or(0, Timestamp::as_millisecond)
    }
}

// What the shop records for its staff: lines of the audit log, security events, and alarms of a sale.

wire_enum! {
    /// What a line of the audit log is about. The console has words for every action.
    pub enum AuditAction {
        Create = "create",
        Edit = "edit",
        Delete = "delete",
        Schedule = "schedule",
        Unschedule = "unschedule",
        Start = "start",
        Pause = "pause",
        Resume = "resume",
        /// Stops a sale or a packet.
        Stop = "stop",
        TopUp = "top-up",
        /// Changes the pace of a waiting room.
        Pace = "pace",
        /// Excludes an entry of a draw.
        Exclude = "exclude",
        /// Enters the public randomness of a draw.
        Draw = "draw",
        /// Calls off a draw whose public round never came.
        CallOffDraw = "call-off-draw",
        /// Lets a later public round decide a draw whose own never came.
        ChangeRound = "change-round",
        MakeInvitations = "make-invitations",
        RevokeInvitations = "revoke-invitations",
        Archive = "archive",
        Unarchive = "unarchive",
        Cancel = "cancel",
        Refund = "refund",
        RefundPart = "refund_part",
        RetryRefund = "retry_refund",
        SettlePayment = "settle_payment",
        RequestRefund = "request-refund",
        ApproveRefund = "approve-refund",
        DeclineRefund = "decline-refund",
        VoidRefund = "void-refund",
        Hold = "hold",
        ReleaseHold = "release-hold",
        UpholdHold = "uphold-hold",
        IssueInvoice = "issue-invoice",
        ExportInvoices = "export-invoices",
        MoveParcel = "move-parcel",
        /// Another carrier or number on a parcel.
        CorrectParcel = "correct-parcel",
        AcceptReturn = "accept-return",
        RefuseReturn = "refuse-return",
        /// The goods of a return are back, and their refund begins.
        ReceiveReturn = "receive-return",
        /// A first answer to a question, or a changed one.
        Answer = "answer",
        HideQuestion = "hide-question",
        UnhideQuestion = "unhide-question",
        RevealRecipient = "reveal-recipient",
        /// Gives a packet from the shop's purse.
        Give = "give",
        /// Asks a second person for a packet from the shop's purse.
        RequestPacket = "request-packet",
        ApprovePacket = "approve-packet",
        DeclinePacket = "decline-packet",
        VoidPacket = "void-packet",
        /// Replays a dead letter.
        Replay = "replay",
        Discard = "discard",
        ExportOrders = "export-orders",
        ExportBooks = "export-books",
        Block = "block",
        Unblock = "unblock",
        EndSessions = "end-sessions",
        StartRecovery = "start-recovery",
        AddStaff = "add-staff",
        SetRole = "set-role",
        Dismiss = "dismiss",
        ResetPassword = "reset-password",
        ResetSecondFactor = "reset-second-factor",
        StaffPolicy = "staff-policy",
        LogIn = "log-in",
        LogInFailed = "log-in-failed",
        ChangePassword = "change-password",
        RecoverPassword = "recover-password",
        SetSecondFactor = "set-second-factor",
        RemoveSecondFactor = "remove-second-factor",
        AddPasskey = "add-passkey",
        RemovePasskey = "remove-passkey",
        VerifyMail = "verify-mail",
        RemoveMail = "remove-mail",
        CreateToken = "create-token",
        RevokeToken = "revoke-token",
        /// Another shop confirmed, released or extended a reservation.
        ConfirmReservation = "confirm-reservation",
        ReleaseReservation = "release-reservation",
        ExtendReservation = "extend-reservation",
        /// An endpoint of events. The shop itself edits it when it disables it.
        AddEndpoint = "add-endpoint",
        EditEndpoint = "edit-endpoint",
        DeleteEndpoint = "delete-endpoint",
        RotateSecret = "rotate-secret",
        RevealSecret = "reveal-secret",
        ReplayEvents = "replay-events",
    }
}

impl AuditAction {
    /// Whether the action's name already says which state its subject is in now.
    pub fn tells_state(self) -> bool {
        use AuditAction::*;
        matches!(
            self,
            Schedule
                | Unschedule
                | Start
                | Pause
                | Resume
                | Stop
                | Cancel
                | Refund
                | Hold
                | ReleaseHold
                | Answer
                | HideQuestion
                | UnhideQuestion
        )
    }
}

// The classes of security events.

wire_enum! {
    /// What a security event is about. Metrics count the classes in this order.
    pub enum SecurityClass {
        /// A session began: the password and the code were right, or a shopper registered.
        LogIn = "log_in",
        /// The name or the password was wrong, or the account is blocked.
        LogInFailed = "log_in_failed",
        /// There were too many guesses, or too many passwords wait to be hashed.
        LogInThrottled = "log_in_throttled",
        /// The password was right and the code was wrong.
        SecondFactorFailed = "second_factor_failed",
        /// The second factor was set up or replaced.
        SecondFactorSet = "second_factor_set",
        /// The second factor was removed, by the owner of the account or by the shop's owner.
        SecondFactorRemoved = "second_factor_removed",
        /// A member of the staff entered the password, and the code, again.
        StepUp = "step_up",
        PasswordChanged = "password_changed",
        /// Staff ended the sessions of an account.
        SessionsEnded = "sessions_ended",
        /// The rules for names and passwords refused a registration.
        RegistrationRefused = "registration_refused",
        RegistrationThrottled = "registration_throttled",
        RoleChanged = "role_changed",
        AccountBlocked = "account_blocked",
        AccountUnblocked = "account_unblocked",
        TokenCreated = "token_created",
        TokenRevoked = "token_revoked",
        /// Another site sent the browser here with a request that changes something.
        CrossSiteRefused = "cross_site_refused",
        /// The signature or the body of a payment provider's webhook was refused.
        WebhookRefused = "webhook_refused",
        /// A visitor, a shopper, or a role without the permission asked for a page or an operation of the staff.
        StaffAccessRefused = "staff_access_refused",
        /// Data of many accounts, or all data of one account, was downloaded.
        Exported = "exported",
        /// A member of the staff read the recipient of an order in full, for a reason that stands in the audit log.
        RecipientRevealed = "recipient_revealed",
        /// The process began with a second secret, or encrypted second factors with the new one.
        SecretRotated = "secret_rotated",
        /// A connection was refused, because its address or the process has the maximum number.
        ConnectionLimited = "connection_limited",
        /// An event stream was refused, because the account or the address has the maximum number.
        StreamLimited = "stream_limited",
        PasskeyAdded = "passkey_added",
        PasskeyRemoved = "passkey_removed",
        /// The mail address of an account was verified or removed.
        MailAddressChanged = "mail_address_changed",
        /// A link that sets a new password was sent, at the request of the owner or of staff.
        RecoveryStarted = "recovery_started",
        /// A program sent a token that the shop does not take, or sent one in an address.
        TokenRefused = "token_refused",
    }
}

// Alarms: what staff should look at in a sale, and since when.

wire_enum! {
    /// What staff should look at in a sale. The cockpit decides it for each sample.
    pub enum Alarm {
        /// Purchases are slow.
        Slow = "slow",
        /// Requests are turned away because the shop is overloaded.
        Errors = "errors",
        /// Redis and the database have disagreed for longer than an order takes to reach the database.
        Drift = "drift",
        /// Nine tenths of a live sale's stock are reserved.
        NearlySold = "nearly_sold",
    }
}

/// An alarm that rose, and ended or still stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AlarmEvent {
    pub alarm: Alarm,
    pub rose_at: Timestamp,
    pub ended_at: Option<Timestamp>,
}
