texts! {
    /// The account pages of a user, and the second step of a login.
    MemberText {
        title: "我的账号", "Your account";
        index: "本页内容", "On this page";
        group_mine: "我的", "Shopping";
        group_safety: "登录与安全", "Log-in and security";
        group_notices: "联系方式与通知", "Contact and notifications";
        group_privacy: "隐私", "Privacy";
        none: "未添加", "None";
        count_addresses: "{} 个", "{}";
        count_devices: "{} 台", "{}";
        count_passkeys: "{} 个", "{}";
        since: "注册于", "Member since";
        must_change: "请先设置自己的密码。当前密码由管理员代为创建，仅供首次登录使用。",
            "Please set your own password first. Your current one was created by someone else.";
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
        end: "退出", "Log out";
        end_label: "退出：{}", "Log out: {}";
        end_all: "退出所有设备", "Log out of all devices";
        end_all_text: "包括当前设备，之后需要重新登录。", "This includes the device you’re using. You’ll need to log in again.";
        factor_head: "两步验证", "Two-step verification";
        factor_off_text: "登录时除密码外，还需输入手机验证器上的 6 位数字，密码泄露也不怕。",
            "Besides your password, logging in takes a 6-digit code from an app on your phone. A stolen password alone is useless.";
        factor_on: "已开启", "On";
        factor_off: "未开启", "Off";
        factor_on_text: "登录时需要验证码。还剩 {} 个恢复码。", "You’ll be asked for a code when you log in. Recovery codes left: {}.";
        factor_set_up: "开启两步验证", "Set up two-step verification";
        factor_remove: "关闭两步验证", "Turn off two-step verification";
        factor_remove_text: "关闭后，只凭密码即可登录。", "You’ll log in with your password only.";
        factor_title: "开启两步验证", "Set up two-step verification";
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
        delete_password: "密码", "Password";
        delete_yes: "永久删除账号", "Permanently delete my account";
        deleted_title: "账号已删除", "Your account has been deleted";
        deleted_text: "感谢你的光临。", "Thanks for having been with us.";
        step_title: "两步验证", "Two-step verification";
        step_lead: "密码正确。请输入验证器显示的 6 位数字，或一个恢复码。", "Enter the 6-digit code from your authenticator app, or a recovery code.";
        step_button: "继续", "Continue";
        step_again: "重新登录", "Start over";
    }
}
