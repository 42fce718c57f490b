use crate::fill;
use domain::draw::WrongRandomness;

texts! {
    /// The console's page of a draw.
    DrawConsoleText {
        title: "抽签", "Draw";
        link: "抽签进度与报名", "Draw and entries";
        back: "← 实时看板", "← Dashboard";
        public_page: "公开证明页", "Public proof";
        list: "名单（CSV）", "List (CSV)";
        proof: "证明（JSON）", "Proof (JSON)";
        api: "公开数据（JSON）", "Facts (JSON)";
        steps: "进度", "Steps";
        step_announced: "规则已公布", "Rules announced";
        step_entries: "开放报名", "Entries open";
        step_review: "报名截止，核对名单", "Entries close, review";
        step_locked: "名单锁定", "List locked";
        step_round: "公开随机数", "Public round";
        step_drawn: "抽签", "Drawn";
        step_offers: "按顺序发放", "Offers in order";
        step_settled: "结束", "Settled";
        step_done: "完成", "done";
        step_now: "进行中", "now";
        late: "名单在公开随机数出现之后才锁定。证明仍可重算，但不能排除按随机数挑选报名的可能；公开页也会这样说明。",
            "The list was locked after its public round had appeared. The proof can be recomputed, but it cannot be ruled out that entries were chosen by the round; the public page says so, too.";
        called_off: "本场在报名截止前被结束，抽签已取消，没有人中签。", "The sale was ended before its closing time, so the draw was called off. Nobody wins.";
        called_off_for: "公开随机数一直没有出现，抽签已取消，没有人中签。公开的原因：", "The public round never came, so the draw was called off. Nobody wins. The published reason:";
        call_off: "取消抽签", "Call off the draw";
        call_off_text: "公开随机数已逾期一小时。取消后没有人中签，押金全部退回，报名者会收到通知；不能撤销。若该轮其实已经公布，任何人都能查到。",
            "The public round is an hour overdue. If you call the draw off, nobody wins, all deposits go back and every entrant is told. This can’t be undone. If the round has appeared after all, anyone can see that.";
        call_off_reason: "原因（所有人可见）", "Reason (everyone can read it)";
        call_off_done: "抽签已取消，正在通知报名者。", "The draw was called off. Its entrants are being told.";
        numbers: "数字", "Numbers";
        entries: "报名", "Entries";
        entries_many: "超过 {}", "more than {}";
        taking_part: "参与抽签", "Taking part";
        excluded: "已排除", "Excluded";
        units: "件数", "Units";
        offered: "已轮到", "Had their turn";
        paid: "已付款", "Paid";
        unpaid: "待付款", "Waiting for payment";
        lapsed: "逾期或取消", "Lapsed or cancelled";
        refunded: "已退款", "Refunded";
        round_title: "公开随机数", "Public round";
        round_text: "本场等待 quicknet 第 {} 轮。到时打开下面的地址，把内容整段粘贴过来；粘贴后立即验证签名。",
            "The draw awaits round {} of quicknet. Open this address once it is due and paste all of what it says. Its signature is verified at once.";
        round_due: "公布时间", "Due";
        round_field: "粘贴的内容", "What it says";
        round_send: "验证并抽签", "Verify and draw";
        round_sandbox: "沙盒随机数到时自动取得。", "The sandbox’s round arrives by itself.";
        round_given: "该轮随机数已验证。", "The round has been verified.";
        wrong_unreadable: "既不是该轮的 JSON，也不是十六进制签名。", "It is neither the JSON of a round nor a signature in hexadecimal digits.";
        wrong_round: "这是第 {} 轮，", "It is round {}, ";
        wrong_awaited: "等待的是第 {} 轮。", "and round {} is awaited.";
        wrong_signature: "签名不属于该轮。", "Its signature is not that of the round.";
        wrong_randomness: "随机数与签名不符。", "Its randomness does not belong to its signature.";
        dry_title: "演练", "Dry run";
        dry_text: "用一次性的密钥给现有报名排序，看需要多久。不是真正的抽签：不保存，也不影响结果。",
            "Ranks the present entries with a throwaway secret, to see how long it takes. It is not the draw: nothing is stored, and the real order will differ.";
        dry_send: "开始演练", "Start a dry run";
        dry_done: "演练：{} 个报名", "Dry run: {} entries";
        dry_read: "读取名单", "Reading the list";
        dry_computed: "计算默克尔根与名次", "Computing root and ranks";
        dry_first: "演练中的前十名（真正的抽签不会是这个顺序）", "First ten of the dry run (not the order of the real draw)";
        ms: "{} 毫秒", "{} ms";
        table: "报名列表", "List of entries";
        col_rank: "名次", "Rank";
        col_entry: "报名编号", "Entry";
        col_user: "账号", "Account";
        col_at: "报名时间", "Entered";
        col_state: "状态", "State";
        state_in: "有效", "in";
        state_withdrawn: "已撤回", "taken back";
        state_excluded: "已排除", "excluded";
        state_skipped: "已跳过", "passed over";
        order: "订单", "Order";
        deleted: "已注销", "deleted";
        find: "从此编号开始", "From this entry on";
        find_send: "查找", "Find";
        first: "回到开头", "Back to the start";
        next: "下一页", "Next page";
        empty: "还没有报名。", "No entries yet.";
        exclude: "排除", "Exclude";
        exclude_text: "报名者会看到原因，公开名单会列出并计数。名单锁定后不能更改。",
            "The entrant reads the reason, and the public list names and counts it. It stands once the list is locked.";
        exclude_reason: "原因", "Reason";
        excluded_done: "已排除一个报名，原因已记入日志。", "The entry is excluded, and the reason is in the log.";
        round_done: "随机数已通过验证，马上抽签。", "The round is verified. The draw is held at once.";
    }
}

impl DrawConsoleText {
    /// Why a pasted round was refused.
    pub fn wrong(&self, wrong: &WrongRandomness) -> String {
        match wrong {
            WrongRandomness::Unreadable => self.wrong_unreadable.to_owned(),
            WrongRandomness::OtherRound { given, awaited } => {
                fill(self.wrong_round, given) + &fill(self.wrong_awaited, awaited)
            }
            WrongRandomness::Signature => self.wrong_signature.to_owned(),
            WrongRandomness::Randomness => self.wrong_randomness.to_owned(),
        }
    }
}
