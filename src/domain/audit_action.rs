//! The actions that the audit log knows.

use super::wire::wire_enum;

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
