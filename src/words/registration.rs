texts! {
    /// A verified mail address in place of a registration's proof of work.
    ContactText {
        head: "不想等？用邮箱验证", "Rather not wait? Use your email";
        lead: "我们会发送一个链接。打开链接确认后，即可提交本页，无需等待。该邮箱将成为你账号的邮箱。",
            "We’ll send you a link. Confirm your address there, then create your account here without waiting. The address becomes your account’s.";
        lead_tab: "会打开新标签页，本页填写的内容会保留。", "This opens a new tab, so what you’ve filled in here stays.";
        send: "发送链接", "Send link";
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
