texts! {
    /// The pages about the mail address of an account, and about a lost password.
    RecoveryText {
        head: "邮箱", "Email";
        none: "添加邮箱，忘记密码时可以找回账号，账号有变动时也会收到通知。",
            "Add an email address so you can get back in if you lose your password, and hear about changes to your account.";
        verified: "已验证", "Verified";
        unconfirmed: "待验证", "To be confirmed";
        pending: "验证邮件已发送，请打开邮件中的链接：", "We’ve sent a link. Open it to confirm this address:";
        address: "邮箱地址", "Email address";
        add: "添加邮箱", "Add an email address";
        change: "更换邮箱", "Change email address";
        remove: "移除邮箱", "Remove email address";
        remove_text: "移除后，忘记密码将无法找回账号。", "Without it you can’t get back in if you lose your password.";
        save: "发送验证邮件", "Send confirmation link";
        done_sent: "请查收邮件并打开其中的链接。", "Please check your email and open the link in it.";
        done_removed: "邮箱已移除。", "Email address removed.";
        verify_title: "验证邮箱", "Confirm your email address";
        verify_text: "将此邮箱用于账号“{}”：", "Use this address for the account “{}”:";
        verify_use: "验证后可用它找回账号，账号变动和轮到你候补时也会收到邮件。",
            "With it you can get back in if you lose your password, and hear about changes and about your turn on a waitlist.";
        verify_button: "验证邮箱", "Confirm";
        verify_done: "邮箱已验证。", "Your email address is confirmed.";
        to_account: "返回账号", "Go to your account";
        forgot: "忘记密码？", "Forgot your password?";
        forgot_title: "找回账号", "Get back into your account";
        forgot_lead: "输入用户名或已验证的邮箱，我们会把重设密码的链接发到该邮箱。",
            "Enter your username or your confirmed email address. We’ll send a link there to set a new password.";
        forgot_name: "用户名或邮箱", "Username or email address";
        forgot_button: "发送链接", "Send link";
        sent_title: "请查收邮件", "Check your email";
        sent_text: "如果该账号有已验证的邮箱，几分钟内就会收到链接，30 分钟内有效。",
            "If that account has a confirmed address, a link is on its way. It works for 30 minutes.";
        sent_look: "没收到？请看看垃圾邮件，或", "Nothing there? Look in your spam folder, or";
        step_ask: "在这里填写用户名或邮箱。", "Enter your username or address here.";
        step_open: "打开邮件中的链接，30 分钟内有效。", "Open the link in our message within 30 minutes.";
        step_set: "设置新密码，然后登录。", "Set a new password, and log in with it.";
        sent_staff: "未开启两步验证的员工请联系店主重置密码。", "Staff without two-step verification: ask an owner to reset your password.";
        new_title: "设置新密码", "Set a new password";
        new_lead: "账号“{}”将在所有设备上退出登录。", "The account “{}” will be logged out of all devices.";
        new_button: "保存新密码", "Save new password";
        new_done_title: "密码已修改", "Password changed";
        new_done: "请使用新密码登录。", "You can now log in with your new password.";
        again: "重新获取链接", "request another link";
        start: "发送重设密码邮件", "Send password recovery";
        start_text: "将链接发到该用户已验证的邮箱，由本人设置新密码。请先核实身份。",
            "Sends a link to the user’s confirmed address. Only the user can set the new password. Verify their identity first.";
        done_start: "邮件已发送到该用户的邮箱。", "The link was sent to the user’s address.";
        console_title: "邮件", "Email";
        console_lead: "保留 30 天。链接只发给收件人。", "Kept for 30 days. Links are shown to recipients only.";
        console_lead_unsent: "未配置邮件服务器，邮件不会发出，只能在这里查看。",
            "No mail server is set up: messages aren’t sent and can be read here only.";
        console_none: "还没有邮件。", "No messages yet.";
        state_waiting: "等待发送", "Waiting";
        state_sent: "已发送", "Sent";
        state_dead: "未送达", "Not delivered";
        to: "收件人", "To";
        attempts: "尝试次数：{}", "Attempts: {}";
        read: "查看内容", "Read";
    }
}
