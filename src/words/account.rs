texts! {
    /// The account pages of a user, and the second step of a login.
    MemberText {
        counted: "{} 个", "{}";
        title: "我的账号", "Your account";
        index: "本页内容", "On this page";
        group_mine: "我的", "Shopping";
        group_safety: "登录与安全", "Log-in and security";
        group_notices: "联系方式与通知", "Contact and notifications";
        group_privacy: "隐私", "Privacy";
        none: "未添加", "None";
        count_devices: "{} 台", "{}";
        since: "注册于", "Member since";
        must_change: "使用管理功能前，请先设置一个只有你知道、至少 12 个字符的密码。",
            "Before you use the console, please set a password that only you know, of at least 12 characters.";
        done_password: "密码已修改，其他设备已全部退出。", "Password changed. All other devices have been logged out.";
        done_session: "该设备已退出。", "Device logged out.";
        done_factor_off: "两步验证已关闭。", "Two-step verification is off.";
        password_head: "修改密码", "Password";
        password_text: "修改后，其他设备会全部退出登录。", "Changing your password logs out all other devices.";
        password_now: "当前密码", "Current password";
        password_new: "新密码", "New password";
        password_save: "修改密码", "Change password";
        sessions_head: "登录设备", "Your devices";
        sessions_text: "不认识的设备？请让它退出并修改密码。", "Don’t recognize a device? Log it out and change your password.";
        this_one: "当前设备", "This device";
        unknown_device: "未知设备", "Unknown device";
        began: "登录于 {}", "logged in {}";
        seen: "最近使用 {}", "Last active {}";
        end_label: "退出：{}", "Log out: {}";
        end_all: "退出所有设备", "Log out of all devices";
        end_all_text: "包括当前设备，之后需要重新登录。", "This includes the device you’re using. You’ll need to log in again.";
        factor_off_text: "登录时除密码外，还需输入手机验证器上的 6 位数字，密码泄露也不怕。",
            "Besides your password, logging in takes a 6-digit code from an app on your phone. A stolen password alone is useless.";
        factor_on: "已开启", "On";
        factor_off: "未开启", "Off";
        factor_on_text: "登录时需要验证码。还剩 {} 个恢复码。", "You’ll be asked for a code when you log in. Recovery codes left: {}.";
        factor_set_up: "开启两步验证", "Set up two-step verification";
        factor_remove: "关闭两步验证", "Turn off two-step verification";
        factor_remove_text: "关闭后，只凭密码即可登录。", "You’ll log in with your password only.";
        factor_step_1: "在手机上打开验证器应用（例如 Google Authenticator、1Password），扫描二维码。",
            "Open an authenticator app on your phone (such as Google Authenticator or 1Password) and scan the QR code.";
        factor_picture: "验证器二维码", "QR code for your authenticator app";
        factor_by_hand: "无法扫描？手动输入密钥：", "Can’t scan it? Enter this key:";
        factor_present_code: "当前验证器的验证码", "Code of your current app";
        factor_present_help: "更换验证器前，请输入原验证器的 6 位数字或一个恢复码", "To replace it, enter a 6-digit code of the current app, or a recovery code";
        factor_step_2: "输入应用显示的 6 位数字和你的密码。", "Enter the 6-digit code from the app and your password.";
        code: "验证码", "Code";
        code_beside_help: "有人多次尝试过这个用户名。若已开启两步验证，请连同密码一起输入验证码；也可用通行密钥登录或找回密码。",
            "Others tried this user name many times. With two-step verification, enter the code together with your password; a passkey or a recovery works too.";
        code_help: "6 位数字，或一个恢复码", "6 digits, or a recovery code";
        code_first_help: "6 位数字", "6 digits";
        factor_confirm: "确认开启", "Turn on";
        recovery_title: "请保存恢复码", "Save your recovery codes";
        recovery_text: "两步验证已开启。手机丢失时，可用恢复码代替验证码，每个限用一次。恢复码只显示这一次。",
            "Two-step verification is on. If you lose your phone, each code below works once in place of a verification code. They’re shown only once.";
        factor_how: "两步验证怎么用", "How two-step verification works";
        factor_how_log_in: "登录时，先输入密码，再输入手机验证器上的 6 位数字。", "When you log in, enter your password, then the 6 digits that the app on your phone shows.";
        factor_how_changes: "数字每 30 秒更换一次，手机没有信号也能显示。", "The digits change every 30 seconds. Your phone needs no signal to show them.";
        factor_how_lost: "手机丢失或更换时，用恢复码登录，再重新绑定。", "If you lose or replace your phone, log in with a recovery code and set it up again.";
        recovery_where: "把恢复码放在手机以外的地方：打印出来，或存进密码管理器。", "Keep the codes away from your phone: on paper, or in a password manager.";
        recovery_print: "打印", "Print";
        recovery_done: "已保存，返回账号", "I’ve saved them";
        data_head: "我的数据", "Your data";
        data_text: "以 JSON 文件下载本店保存的全部个人数据：账号、地址、订单与进度、付款、登录设备。",
            "Everything we store about you, as a JSON file: account, addresses, orders and their history, payments, devices.";
        data_get: "下载我的数据", "Download my data";
        delete_head: "删除账号", "Delete account";
        delete_text: "你的用户名、密码和登录设备会被清除，无法恢复。订单会匿名保留用于账目，该用户名不能再注册。",
            "Your username, password and devices are permanently erased. Orders are kept anonymously for accounting. The username can’t be used again.";
        delete_name: "输入用户名以确认", "Type your username to confirm";
        delete_yes: "永久删除账号", "Permanently delete my account";
        deleted_title: "账号已删除", "Your account has been deleted";
        deleted_text: "感谢你的光临。", "Thanks for having been with us.";
        step_lead: "密码正确。请输入验证器显示的 6 位数字，或一个恢复码。", "Enter the 6-digit code from your authenticator app, or a recovery code.";
        step_button: "继续", "Continue";
        step_again: "重新登录", "Start over";
    }
}

texts! {
    /// Login, orders, the test checkout, error pages.
    AccountText {
        login_lead: "登录后即可抢购和查看订单。", "Log in to buy and view your orders.";
        register_title: "注册", "Create an account";
        register_lead: "只需用户名和密码。", "All you need is a username and a password.";
        username: "用户名", "Username";
        password: "密码", "Password";
        register_agree: "注册即同意本店的{}", "By creating an account you agree to the shop’s {}";
        register_page: "《{}》", "{}";
        register_and: "和", " and ";
        register_button: "注册并登录", "Create account";
        username_help: "3 到 32 个字母、数字或 _ - . 字符", "3 to 32 letters, digits, dots, hyphens or underscores";
        proof_wait: "你的网络最近注册了很多账号，请填好表单，在此时间之后提交：",
            "Many accounts were just created from your network. Fill in the form now, and send it after";
        proof_computing: "正在核验浏览器，只需几秒…", "Checking your browser. This takes a few seconds…";
        show_password: "显示密码", "Show password";
        rule_length: "至少 {} 个字符", "At least {} characters";
        rule_varied: "不是重复的字符、连续的按键或用户名", "Not a repetition, a row of keys or your username";
        strength: "强度", "Strength";
        strengths: "太弱|一般|良好|很强", "too weak|fair|good|strong";
        rule_common: "不是常见或泄露过的密码（提交时核对）", "Not a common or leaked password (checked when you send it)";
        to_register: "还没有账号？注册一个", "New here? Create an account";
        to_login: "已有账号？去登录", "Already have an account? Log in";
        beside: "为什么在这里买", "What you get here";
        beside_destination: "登录后前往", "You’re heading to";
        beside_next: "下一场", "Next sale";
        beside_starts_in: "距开抢", "Starts in";
        beside_pay: "保留 {} 分钟", "Held for {} minutes";
        beside_pay_text: "抢到后等你付款，超时未付才放回。", "Pay any time before then. Unpaid orders go back on sale.";
        orders_title: "我的订单", "Your orders";
        orders_empty: "还没有订单。", "No orders yet.";
        orders_empty_text: "去看看正在抢购和即将开抢的秒杀吧。", "See what’s on now and what’s coming up.";
        orders_older: "更早的订单", "Older orders";
        to_sales: "去逛秒杀", "Browse sales";
        quantity: "共 {} 件", "Qty {}";
        order_number: "订单号", "Order number";
        pay_by: "请在", "Pay by";
        pay_by_end: "前付款", "to keep it";
        time_left: "剩余付款时间", "Time left to pay";
        pay: "去付款", "Pay now";
        cancel: "取消订单", "Cancel order";
        cancel_question: "确定取消订单吗？", "Cancel this order?";
        cancel_text: "取消后商品会重新开抢，可能抢不回来。", "Your items go back on sale right away, and you may not get them again.";
        cancel_yes: "确认取消", "Yes, cancel order";
        cancel_no: "再想想", "Keep order";
        history: "订单进度", "Timeline";
        status_reserved: "已锁定", "Reserved";
        status_unpaid: "待付款", "Awaiting payment";
        status_paid: "已付款", "Paid";
        status_cancelled: "已取消", "Cancelled";
        status_rejected: "下单失败", "Unsuccessful";
        status_refund_pending: "退款中", "Refund pending";
        status_refunded: "已退款", "Refunded";
        means_reserved: "库存已为你保留，正在生成订单，本页会自动更新。",
            "Your items are reserved. We’re creating your order; this page updates by itself.";
        means_unpaid: "库存已为你保留，请按时付款。", "Your items are reserved until the payment deadline.";
        means_paid: "付款成功，感谢购买！", "Payment received. Thank you for your order!";
        means_cancelled: "订单已取消，未产生扣款。", "Your order was cancelled. You weren’t charged.";
        means_rejected: "很抱歉，下单未成功，未产生扣款。", "Sorry, we couldn’t complete your order. You weren’t charged.";
        means_refund_pending: "付款到账时订单已取消，款项正在原路退回。",
            "Your payment arrived after the order was cancelled. Your refund is on its way.";
        means_refunded: "款项已原路退回。", "Your payment has been refunded.";
        reason_sold_out: "原因：库存不足。", "Reason: sold out.";
        reason_repeated: "原因：你在本场已有订单。", "Reason: you already have an order in this sale.";
        reason_unpaid: "原因：超时未付款。", "Reason: not paid in time.";
        reason_by_owner: "原因：你取消了订单。", "Reason: you cancelled it.";
        test_cashier: "测试模式：付款不会扣款。", "Test mode: no money is taken.";
        test_console: "测试模式：支付渠道使用测试密钥或沙箱，订单付款不会真正收钱。",
            "Test mode: the payment provider has test keys or is a sandbox, so orders are paid without money.";
        test_mark: "测试", "Test";
        pay_stripe: "银行卡等（Stripe）", "Card and more, by Stripe";
        pay_wechatpay: "微信支付", "WeChat Pay";
        pay_alipay: "支付宝", "Alipay";
        pay_sandbox: "测试付款", "Test payment";
        payment_title: "去付款", "Payment";
        payment_going: "正在前往付款页面：{}", "Taking you to the payment page: {}";
        payment_go: "继续付款", "Continue";
        payment_unpaid: "还没有付款？可以继续付款，或换一种付款方式。", "Haven’t paid yet? Continue, or choose another way to pay.";
        payment_wechat: "微信内打不开付款页面。请点右上角“···”，选“在浏览器打开”，再付款。", "WeChat can’t open the payment page. Tap ··· at the top, choose “Open in Browser”, and pay there.";
        payment_other: "换一种付款方式", "Pay another way";
        payment_scan: "请扫码付款：{}", "Scan the code to pay: {}";
        payment_code: "付款二维码", "QR code of the payment";
        payment_paid: "我已付款", "I have paid";
        payment_asked: "正在向支付平台查询：{}。查到付款后，本页会自动跳转。", "We are asking about your payment: {}. This page goes on by itself once it is found.";
        payment_lost: "付了款，本页却没有变化？结果可能要过几分钟才到，请不要重复付款。扫不了码时，请换一台设备打开本页，或返回换一种付款方式。没有用上的款项会原路退回。",
            "Paid, and nothing happens here? The result can take a few minutes; please don’t pay twice. If you can’t scan the code, open this page on another device, or go back and choose another way to pay. Money that isn’t used goes back to you.";
        cashier_title: "测试收银台", "Test checkout";
        cashier_mark: "测试环境：不会产生真实扣款", "Test mode: no real charge";
        cashier_text: "本页模拟支付平台，请选择支付结果。", "This page stands in for a payment provider. Choose the payment result.";
        cashier_pay: "模拟付款成功", "Pay";
        cashier_cards: "或指定一张测试卡，商店会记下卡的指纹：", "Or name a test card, whose fingerprint the shop gets:";
        cashier_card: "用尾号 {} 的卡付款", "Pay with card ending {}";
        cashier_decline: "模拟付款失败", "Decline";
        cashier_settled: "付款成功", "Payment successful";
        cashier_declined: "付款失败", "Payment declined";
        cashier_closed: "这笔付款已关闭：已过付款期限，或订单已取消、已付款，或已发起新的付款。未产生扣款，请返回查看。",
            "This payment is closed: its time is up, the order was cancelled or paid, or a newer payment was started. You weren’t charged. Go back to see where things stand.";
        cashier_back: "返回订单", "Back to the order";
        error_label: "错误 {}", "Error {}";
        go_back: "返回", "Go back";
    }
}

texts! {
    /// A verified mail address in place of a registration's proof of work.
    ContactText {
        head: "不想等？用邮箱验证", "Rather not wait? Use your email";
        lead: "我们会发送一个链接。打开链接确认后，即可提交本页，无需等待。该邮箱将成为你账号的邮箱。",
            "We’ll send you a link. Confirm your address there, then create your account here without waiting. The address becomes your account’s.";
        lead_tab: "会打开新标签页，本页填写的内容会保留。", "This opens a new tab, so what you’ve filled in here stays.";
        sent: "邮件已发送至", "We’ve sent an email to";
        sent_next: "请打开其中的链接并确认，然后回到注册页面提交。",
            "Open the link in it and confirm, then go back to the registration page and create your account.";
        sent_tab: "注册页面仍在另一个标签页中打开，本页可以关闭。", "The registration page is still open in another tab. You can close this one.";
        confirm_title: "用邮箱注册", "Register with your email";
        confirm_text: "仅当你本人正在注册时才确认：", "Confirm only if you’re creating an account yourself right now:";
        confirm_button: "是我在注册，确认", "Yes, it’s me";
        done_title: "邮箱已确认", "Address confirmed";
        done: "现在回到注册页面提交即可，无需等待。", "Now go back to the registration page and create your account. There’s no more waiting.";
        go_on: "注册页面已经关闭？在这里注册", "Closed the registration page? Register here";
        ready: "可以直接注册，此邮箱已确认：", "You can create your account now. This address is confirmed:";
    }
}

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
        code_link: "用邮箱验证码登录", "Log in with a code by email";
        code_title: "用邮箱验证码登录", "Log in with a code";
        code_lead: "输入用户名或已验证的邮箱，我们会把验证码发到该邮箱，无需密码。",
            "Enter your username or your confirmed email address. We’ll send a code there: no password needed.";
        code_button: "发送验证码", "Send code";
        code_sent: "如果该账号有已验证的邮箱，几分钟内就会收到 8 位数字的验证码，10 分钟内有效。",
            "If that account has a confirmed address, a code of 8 digits is on its way. It works for 10 minutes.";
        code_again: "重新获取验证码", "request another code";
        code_by_password: "用密码登录", "Log in with your password";
        forgot_title: "找回账号", "Get back into your account";
        forgot_lead: "输入用户名或已验证的邮箱，我们会把重设密码的链接发到该邮箱。",
            "Enter your username or your confirmed email address. We’ll send a link there to set a new password.";
        forgot_name: "用户名或邮箱", "Username or email address";
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

texts! {
    /// Passkeys: the account page, the log-in, and the page that asks staff for their password again.
    PasskeysText {
        head: "通行密钥", "Passkeys";
        lead: "用指纹、面容或设备密码登录，无需输入密码和验证码，也不会被钓鱼网站骗走。",
            "Log in with your fingerprint, face or device PIN: no password, no code, and nothing a fake site could steal.";
        unavailable: "本站当前地址不支持通行密钥：浏览器要求 https 加域名，或者 localhost。",
            "Passkeys aren’t available at this address: browsers require https with a domain name, or localhost.";
        created: "添加于 {}", "added {}";
        used: "最近使用 {}", "last used {}";
        never_used: "尚未使用", "never used";
        remove_label: "移除：{}", "Remove: {}";
        remove_text: "移除后，不能再用它登录。设备上保存的通行密钥需在设备设置中另行删除。",
            "You won’t be able to log in with it anymore. Your device keeps its copy until you delete it there.";
        add: "添加通行密钥", "Add a passkey";
        name_help: "便于辨认，例如“我的手机”", "To tell it apart, such as “My phone”";
        done_added: "通行密钥已添加。", "Passkey added.";
        done_removed: "通行密钥已移除。", "Passkey removed.";
        log_in: "使用通行密钥登录", "Log in with a passkey";
        step_up: "使用通行密钥验证", "Use a passkey";
        cancelled: "没有完成，请重试。", "That didn’t work out. Please try again.";
        failed: "出了点问题，请稍后再试。", "Something went wrong. Please try again in a moment.";
    }
}

texts! {
    /// Messages by mail.
    MailText {
        hello: "{}，你好：", "Hello {},";
        hello_visitor: "你好：", "Hello,";
        at: "时间：{}", "{}";
        link_until: "链接有效期至 {}，仅可使用一次。", "The link works once, until {}.";
        link_hidden: "（链接或验证码只有收件人可见）", "(Only the recipient sees the link or the code.)";
        code_until: "验证码有效期至 {}，仅可使用一次。", "The code works once, until {}.";
        ignore: "如果不是你本人操作，请忽略本邮件。", "If this wasn’t you, you can ignore this email.";
        ignore_recovery: "如果不是你本人操作，请忽略本邮件，密码不会改变。请勿将链接转发给任何人，包括本店员工。",
            "If this wasn’t you, ignore this email and your password stays as it is. Don’t share the link with anyone, including our staff.";
        react: "如果不是你本人操作，请立即修改密码并退出所有设备。",
            "If this wasn’t you, change your password and log out of all devices right away.";
        verification_subject: "{}：请验证邮箱", "{}: confirm your email address";
        verification: "点击下面的链接，将 {} 设为你账号的邮箱：", "Open this link to use {} for your account:";
        in_use_subject: "{}：你的邮箱被填写", "{}: your address was entered again";
        in_use: "有人在另一个账号中填写了这个邮箱。它已是你账号的邮箱，一个邮箱只能用于一个账号，因此没有任何改变。",
            "Someone entered this address for another account. It belongs to yours, and an address serves one account only, so nothing has changed.";
        registration_subject: "{}：继续注册", "{}: continue creating your account";
        registration: "点击下面的链接，确认用 {} 注册新账号：", "Open this link to confirm that you’re creating an account with {}:";
        recovery_subject: "{}：重设密码", "{}: set a new password";
        recovery: "点击下面的链接，为你的账号设置新密码：", "Open this link to set a new password for your account:";
        sign_in_subject: "{}：登录验证码", "{}: your log-in code";
        sign_in: "你的登录验证码：", "Your code to log in:";
        ignore_sign_in: "如果不是你本人操作，请忽略本邮件。请勿将验证码告诉任何人，包括本店员工。",
            "If this wasn’t you, ignore this email. Don’t tell the code to anyone, including our staff.";
        address_subject: "{}：邮箱已更换", "{}: your email address was changed";
        address: "你账号的邮箱已更换或移除。今后的邮件不再发送到这里。",
            "The email address of your account was changed or removed. This address gets no more email about it.";
        password_subject: "{}：密码已修改", "{}: your password was changed";
        password: "你账号的密码已修改，其他设备已退出登录。", "The password of your account was changed, and other devices were logged out.";
        device_subject: "{}：新设备登录", "{}: login from a new device";
        device: "你的账号在新的设备或网络上登录：", "Your account was used to log in from a new device or network:";
        factor_on_subject: "{}：两步验证已开启", "{}: two-step verification is on";
        factor_on: "你的账号已开启两步验证。", "Two-step verification was turned on for your account.";
        factor_replaced_subject: "{}：两步验证已更换", "{}: two-step verification was replaced";
        factor_replaced: "你账号的验证器已更换，旧的恢复码不再有效。",
            "The authenticator of your account was replaced. Earlier recovery codes no longer work.";
        factor_off_subject: "{}：两步验证已关闭", "{}: two-step verification is off";
        factor_off: "你账号的两步验证已关闭，只凭密码即可登录。",
            "Two-step verification was turned off for your account. The password alone is enough to log in.";
        offer_subject: "{}：候补成功，请尽快付款", "{}: your turn has come";
        offer: "你在候补的商品有货了，订单已为你保留到 {}。请在此之前付款：",
            "A unit you waited for came back. It is yours until {}. Please pay before then:";
        offer_advice: "逾期未付款，将顺延给下一位候补。不想要了可以直接取消订单。",
            "If you don’t pay in time, it goes to the next person waiting. If you no longer want it, just cancel the order.";
        code_subject: "{}：恢复码已使用", "{}: a recovery code was used";
        draw_won_subject: "{}：你中签了", "{}: you won in a draw";
        draw_won: "你中签了，「{}」已为你保留。", "You won in a draw, and {} is held for you.";
        draw_result_subject: "{}：抽签结果已公布", "{}: the result of a draw is there";
        draw_result: "「{}」的抽签结果已公布。", "The result of the draw for {} is there.";
        draw_called_off_subject: "{}：抽签已取消", "{}: a draw was called off";
        draw_called_off: "你报名的「{}」抽签已取消，没有人中签。如有保证金，将全额退回钱包。", "The draw for {} that you entered was called off, and nobody wins. If you paid a deposit, all of it goes back to your wallet.";
        draw_delayed_subject: "{}：抽签延后", "{}: a draw is delayed";
        draw_delayed: "你报名的「{}」抽签延后：公开随机数没有按时出现，改用 {} 公布的一轮。你的报名仍然有效，无需操作。",
            "The draw for {} that you entered is delayed: its public round did not appear in time. The round of {} decides instead. Your entry stands, and there is nothing to do.";
        reason: "原因：“{}”", "The reason: “{}”";
        pay_by: "请在 {} 前付款：", "Pay before {}:";
        order_line: "订单{}：{}", "Order{}: {}";
        held_subject: "{}：订单正在审核", "{}: your order is held for review";
        held: "我们的员工正在审核你的一笔订单，审核结束前不会发货。原因：“{}”", "Our staff are looking at one of your orders, and it won’t ship until they’re done. The reason: “{}”";
        held_advice: "如有误会，请在订单页提交申诉，我们的员工会答复。", "If this is a mistake, write to us on the order page. Our staff answer every appeal.";
        released_subject: "{}：订单已放行", "{}: your order has been released";
        released: "你的订单审核完毕，将照常处理。说明：“{}”", "The review of your order is over, and it goes on as usual. The reason: “{}”";
        upheld_subject: "{}：申诉答复", "{}: the answer to your appeal";
        upheld: "我们的员工看过你的申诉，订单继续审核。答复：“{}”", "Our staff read your appeal, and the order stays held. Their answer: “{}”";
        hold_refund_subject: "{}：订单已退款", "{}: your order is being refunded";
        hold_refund: "审核后，你的订单正在全额退款。原因：“{}”", "After the review your order is being refunded in full. The reason: “{}”";
        hold_cancel_subject: "{}：订单已取消", "{}: your order was cancelled";
        hold_cancel: "审核后，你的订单已取消，未产生扣款。原因：“{}”", "After the review your order was cancelled, and you weren’t charged. The reason: “{}”";
        question_subject: "{}：你的提问有答复了", "{}: your question was answered";
        question: "你关于「{}」的提问已有答复：", "Your question about {} was answered:";
        until: "时间：{}", "Time: {}";
        sale_starts_subject: "{}：即将开始", "{}: a sale starts soon";
        sale_starts: "你设置了提醒：「{}」即将开始。", "You wanted to be reminded: {} starts soon.";
        turn_called_subject: "{}：轮到你了", "{}: it’s your turn";
        turn_called: "排队叫到你了，请在下面的时间前购买：{}", "The waiting room called you. Please buy before the time below: {}";
        payment_ends_subject: "{}：付款时间快到了", "{}: your time to pay ends soon";
        payment_ends: "你的订单将于 {} 取消，请在此之前付款：", "Your order will be cancelled at {}. Please pay before then:";
        code: "你账号的一个恢复码刚刚被使用。", "A recovery code of your account was just used.";
        shipped_subject: "{}：订单已发货", "{}: your order is on its way";
        shipped: "你的订单已发货。", "Your order is on its way.";
        shipped_by: "{} {}", "{} {}";
        delivered_subject: "{}：订单已送达", "{}: your order was delivered";
        delivered: "你的订单已送达。如果没有收到，请联系商家。", "Your order was delivered. If you don’t have it, please contact the shop.";
        assumed_subject: "{}：包裹视为已送达", "{}: your parcel counts as delivered";
        assumed: "你的包裹已寄出多日，没有新的消息，因此视为已送达。如果没有收到，请告诉商家：",
            "Your parcel was sent some days ago and nothing was heard of it, so it counts as delivered. If it didn’t come, please tell the shop:";
        lost_subject: "{}：包裹丢失", "{}: your parcel is lost";
        lost: "你的包裹在运输途中丢失了，商家会与你联系处理。", "Your parcel got lost on its way. The shop will sort it out with you.";
        returned_subject: "{}：包裹已退回商家", "{}: your parcel came back to the shop";
        returned: "你的包裹已退回商家。", "Your parcel is back at the shop.";
        return_accepted_subject: "{}：退货申请已通过", "{}: your return was accepted";
        return_accepted: "你的退货申请已通过。寄回地址和说明：“{}”\n寄出后，请在订单页填写承运商和运单号。",
            "You can send your order back. Where to send it: “{}”\nOnce it is on its way, please enter the carrier and the tracking number on the order page.";
        return_refused_subject: "{}：退货申请未通过", "{}: your return was refused";
        return_refused: "你的退货申请未通过。原因：“{}”", "The shop can’t take your order back. The reason: “{}”";
        endpoint_subject: "{}：事件接收地址已停用", "{}: an endpoint of events was disabled";
        endpoint: "事件接收地址 {} 连续多日没有成功接收，商店已停止向它发送事件。修复后请在这里重新启用，并重发错过的事件：",
            "The endpoint {} took no events for days, so the shop stopped sending to it. Once it works again, turn it on here and send the events it missed:";
        return_refunded_subject: "{}：已收到退货，正在退款", "{}: your return arrived and is being refunded";
        return_refunded: "商家已收到你退回的商品，正在退款 {}。", "What you sent back is at the shop. Your refund of {} is on its way.";
    }
}
