texts! {
    /// A person's own account, and the second step of logging in.
    MemberText {
        title: "我的账号", "Your account";
        since: "注册于", "Member since";
        must_change: "请先设置自己的密码。目前的密码是店主给你的，只能用来登录一次修改。",
            "Please choose a password of your own first. The present one was given to you and somebody else has seen it.";
        done_password: "密码已修改，其他设备已全部退出。", "Your password is changed. All other devices were signed out.";
        done_session: "该设备已退出。", "That device was signed out.";
        done_factor_off: "两步验证已关闭。", "Two-step login is off.";
        password_head: "修改密码", "Password";
        password_text: "修改后，其他设备会全部退出登录。", "Changing it signs out all your other devices.";
        password_now: "现在的密码", "Present password";
        password_new: "新密码", "New password";
        password_save: "修改密码", "Change password";
        sessions_head: "登录的设备", "Where you are signed in";
        sessions_text: "不认识的设备？让它退出，并修改密码。", "Not yours? Sign it out and change your password.";
        this_one: "当前设备", "This device";
        unknown_device: "未知设备", "Unknown device";
        began: "登录于 {}", "signed in {}";
        seen: "最近使用 {}", "Last seen {}";
        end: "退出", "Sign out";
        end_label: "退出：{}", "Sign out: {}";
        end_all: "退出所有设备", "Sign out everywhere";
        end_all_text: "包括当前设备。之后需要重新登录。", "This device as well. You will have to log in again.";
        factor_head: "两步验证", "Two-step login";
        factor_off_text: "登录时除密码外，再输入手机验证器上的六位数字。别人知道了密码也进不来。",
            "Besides the password, logging in asks for six digits from an app on your phone. A stolen password is then of no use.";
        factor_on: "已开启", "On";
        factor_on_text: "登录时需要验证码。还剩 {} 个恢复码。", "Logging in asks for a code. {} recovery codes are left.";
        factor_set_up: "开启两步验证", "Set up two-step login";
        factor_remove: "关闭两步验证", "Turn two-step login off";
        factor_remove_text: "关闭后，只凭密码即可登录。", "Your password alone will be enough to log in.";
        factor_title: "开启两步验证", "Set up two-step login";
        factor_step_1: "在手机上打开验证器应用（例如 Google Authenticator、1Password），扫描二维码。",
            "Open an authenticator app on your phone (Google Authenticator, 1Password and others) and scan the picture.";
        factor_picture: "用于验证器的二维码", "Code to scan with your authenticator";
        factor_by_hand: "无法扫描？手动输入密钥：", "Cannot scan it? Type this key:";
        factor_step_2: "输入应用显示的六位数字和你的密码。", "Enter the six digits that the app shows, and your password.";
        code: "验证码", "Code";
        code_help: "六位数字，或一个恢复码", "Six digits, or one of your recovery codes";
        code_first_help: "六位数字", "Six digits";
        factor_confirm: "确认开启", "Turn on";
        recovery_title: "请保存恢复码", "Keep your recovery codes";
        recovery_text: "两步验证已开启。手机丢失时，每个恢复码可代替验证码使用一次。它们只显示这一次。",
            "Two-step login is on. If you lose your phone, each of these works once in place of a code. They are shown only now.";
        recovery_done: "已保存，返回账号", "I have kept them";
        data_head: "我的数据", "Your data";
        data_text: "下载商店保存的关于你的全部数据（JSON）：账号、地址、订单与进度、付款、登录设备。",
            "Everything the shop knows about you as a JSON file: account, addresses, orders with their history, payments, devices.";
        data_get: "下载我的数据", "Download my data";
        delete_head: "删除账号", "Delete account";
        delete_text: "你的用户名、密码和登录设备会被清除，无法恢复。订单会匿名保留用于账目。用户名以后不能再注册。",
            "Your name, password and devices are erased for good. Orders stay in the books without your name. The user name cannot be taken again, by anybody.";
        delete_name: "输入你的用户名以确认", "Type your user name to confirm";
        delete_password: "密码", "Password";
        delete_yes: "永久删除账号", "Delete my account for good";
        deleted_title: "账号已删除", "Your account is deleted";
        deleted_text: "感谢曾经的光临。", "Thank you for having been with us.";
        step_title: "两步验证", "One more step";
        step_lead: "密码正确。请输入身份验证器显示的六位数字，或一个恢复码。",
            "Your password is right. Enter the six digits that your authenticator shows, or a recovery code.";
        step_button: "继续", "Continue";
        step_again: "重新登录", "Start again";
    }
}
