//! The classes of security events.

use super::wire::wire_enum;

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
    }
}
