use domain::QuestionStatus;

texts! {
    /// Questions about goods and their answers: on pages, for their owners, and in the console.
    QuestionsText {
        title: "商品问答", "Questions and answers";
        none: "还没有已答复的提问，来问第一个吧。", "Nothing has been answered yet. Be the first to ask.";
        asked: "问", "Q";
        answered: "答", "A";
        show_more: "再显示 {} 个", "Show {} more";
        ask: "我要提问", "Ask a question";
        ask_label: "你的问题", "Your question";
        ask_help: "5 到 300 字。答复后公开显示在商品页，不显示你的名字；请勿填写个人信息。",
            "5 to 300 characters. Once answered it is shown here without your name, so leave out personal details.";
        ask_button: "提交问题", "Send question";
        ask_about: "提问：{}", "Ask about {}";
        log_in_first: "提交时需要登录，写好的内容会保留。", "You’ll be asked to log in when you send it. What you typed is kept.";
        kept: "你写的问题还在，请确认后提交。", "Here is what you typed. Please check it, then send.";
        back: "返回商品页", "Back to the product";
        mine: "我的提问", "My questions";
        mine_lead: "答复会显示在这里和商品页，也会发送到你验证过的邮箱。", "Answers appear here and on the product’s page, and go to your confirmed email address.";
        mine_none: "你还没有提问。", "You haven’t asked anything yet.";
        mine_none_text: "在商品页可以向我们提问。", "You can ask us on the page of a product.";
        status_open: "待答复", "Waiting for an answer";
        status_answered: "已答复", "Answered";
        status_hidden: "未公开", "Not shown";
        hidden_text: "我们没有公开这个提问。", "We don’t show this question.";
        our_answer: "我们的答复", "Our answer";
        withdraw: "撤回", "Withdraw";
        withdraw_text: "撤回后会删除这个提问。", "The question is deleted.";
        withdraw_label: "撤回提问：{}", "Withdraw the question: {}";
        withdraw_yes: "确认撤回", "Yes, withdraw";
        done_asked: "问题已提交，答复会显示在这里。", "Your question was sent. The answer will appear here.";
        done_known: "这个问题你已经问过了，正在等待答复。", "You have asked this already, and it waits for its answer.";
        done_withdrawn: "提问已撤回。", "The question was withdrawn.";
        older: "更早的提问", "Older questions";
        newest: "最新的提问", "Newest questions";
        longest: "等待最久的提问", "Longest waiting questions";
        later: "后面的提问", "Later questions";
        console: "提问", "Questions";
        console_lead: "顾客对商品的提问。答复会公开显示在商品页，只显示在提问的语言中，请用同一种语言答复。",
            "What shoppers ask about products. Answers are public, on the pages in the language of the question: answer in that language.";
        tab_open: "待答复", "To answer";
        tab_answered: "已答复", "Answered";
        tab_hidden: "已隐藏", "Hidden";
        empty_open: "没有待答复的提问。", "No questions to answer.";
        empty_answered: "还没有答复过提问。", "No questions have been answered yet.";
        empty_hidden: "没有隐藏的提问。", "No hidden questions.";
        in_zh: "中文", "Chinese";
        in_en: "英文", "English";
        no_account: "无账号", "no account";
        answer_label: "答复（公开）", "Answer (public)";
        answer_help: "纯文本，最多 1000 字，链接不可点击。", "Plain text, up to 1,000 characters. Links can’t be clicked.";
        publish: "发布答复", "Publish answer";
        edit: "修改答复", "Edit answer";
        save: "保存答复", "Save answer";
        hide: "隐藏", "Hide";
        unhide: "恢复", "Show again";
        undo: "撤销", "Undo";
        done_answer: "答复已发布到商品页。", "Answer published on the product’s pages.";
        done_hide: "提问已隐藏。", "Question hidden.";
        done_unhide: "提问已恢复。", "Question shown again.";
        changed: "有人刚刚处理了这个提问，现在的内容见下。你填写的答复还在，请核对后再操作。",
            "Someone just changed this question, and it is shown as it is now. What you entered is still there: check it, then try again.";
        is_hidden: "这个提问已被隐藏，恢复后才能答复。", "The question is hidden. Show it again before you answer it.";
        all: "全部提问", "All questions";
    }
}

impl QuestionsText {
    /// A status as staff read it.
    pub fn status(&self, status: QuestionStatus) -> &'static str {
        match status {
            QuestionStatus::Open => self.tab_open,
            QuestionStatus::Answered => self.tab_answered,
            QuestionStatus::Hidden => self.tab_hidden,
        }
    }
}
