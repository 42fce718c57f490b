use crate::fill;
use domain::DrawStage;
use domain::draw::{Exclusion, WrongRandomness};

texts! {
    /// Sales by draw: the page of a sale, a shopper's entry, and the console's form.
    DrawText {
        how_title: "抢购规则", "How buyers are chosen";
        how_rush: "先到先得，售完即止。", "First come, first served, while stock lasts.";
        how_spread: "每个账号各有一个随机时刻，从那时起先到先得。", "From each account’s own random moment on, first come, first served.";
        how_draw: "抽签：开放期间报名，先后不影响结果；每个账号限报一次，截止后抽签排序。",
            "By draw: enter while it is open. When you enter makes no difference: each account has one entry, and after the closing all are put in a random order.";
        opens: "报名开放", "Entries open";
        closes: "报名截止", "Entries close";
        proof_link: "规则、名单与证明", "Rules, list and proof";
        open: "报名进行中", "Entries are open";
        ended: "报名已截止", "Entries are closed";
        enter: "立即报名", "Enter now";
        withdraw: "撤回报名", "Withdraw";
        mine: "查看我的报名", "See my entry";
        result_at: "结果公布", "Result:";
        remind_told: "结果公布时会通知这台设备", "This device is told when the result is there";
        calendar_result: "抽签结果公布：{}", "Result of the draw: {}";
        calendar_result_text: "中签后请按时付款，逾期会顺延给下一位。", "If you win, pay in time, or it goes to the next in line.";
        result_told: "报名一次即可，先后不影响结果，结果会通知你。", "Enter once; when you do makes no difference. We tell you the result.";
        won_pay: "你中签了，去付款", "You won. Pay now";
        check: "编号与验算", "Number and proof";
        step_enter: "登录后报名一次即可，任何设备都行。", "Log in and enter once, on any device.";
        step_draw: "截止后锁定名单并抽签，结果公开可验证。", "When entries close, the list is locked and the winners are drawn. Anyone can check the result.";
        step_pay: "抽中后订单为你保留，请在订单显示的时间前付款；逾期则顺延给下一位。",
            "If you win, an order waits for you. Pay before the time shown on it, or it goes to the next in line.";
        title: "我的报名", "My entry";
        head_in: "报名成功", "You’re in the draw";
        head_out: "等你报名", "Take part in this draw";
        head_not_open: "还不能报名", "Not open for entries";
        head_missed: "错过了这次报名", "Entries have closed";
        head_waiting: "等待递补", "Next in line";
        head_over: "没中签，差一点", "So close, not this time";
        head_passed: "名额已顺延", "Your turn has passed";
        head_excluded: "报名未通过", "Your entry takes no part";
        head_called_off: "本次抽签取消", "No draw this time";
        result: "看我的结果", "See my result";
        not_entered: "你还没有报名。", "You have not entered.";
        entered: "已报名，截止前可以撤回。结果出来会通知你。", "You have entered, and can withdraw until entries close. We tell you the result.";
        withdrawn: "已撤回报名。截止前可以再次报名。", "Your entry is withdrawn. You can enter again until entries close.";
        excluded: "你的报名已被排除：{}", "Your entry was excluded: {}";
        closed: "报名已截止，等待抽签。", "Entries are closed. The draw is still to come.";
        not_open: "报名尚未开放或已暂停。", "Entries are not open yet, or are paused.";
        missed: "报名已截止，你没有报名。", "Entries are closed, and you have not entered.";
        called_off: "抽签已取消，没有人中签。", "The draw was called off. Nobody wins.";
        later_round: "公开随机数没有按时出现，抽签改用之后的一轮。报名仍然有效。原因：",
            "The public round did not appear in time, so a later one decides. Entries stand. The reason:";
        won: "恭喜中签！请到订单页付款。", "You have won! Please pay on the page of your order.";
        won_elsewhere: "恭喜中签！商品已为你保留，请进入店铺下单付款。", "You have won! A unit is kept for you: go on to the shop, and buy it there.";
        won_paid: "恭喜中签！订单已付款。", "You have won, and your order is paid for.";
        won_lapsed: "你曾中签，但订单已取消或退款，商品已顺延给下一位。", "You had won, but the order was cancelled or refunded. The unit goes to the next in line.";
        waiting: "暂未中签。有人不付款，就按名次轮到下一位。", "Not drawn yet. If a winner doesn’t pay, the next in line gets it.";
        over: "抽签已结束，没有轮到你的名次。谢谢参与。", "The draw is over, and your rank did not come up. Thank you for taking part.";
        skipped: "轮到你时账号不可用，已顺延给下一位。", "Your account could not buy when its turn came, so it went to the next.";
        rank: "名次", "Rank";
        of_entries: "第 {} 名", "{}";
        entry: "报名编号", "Entry";
        entered_at: "报名时间", "Entered";
        receipt: "凭证", "Receipt";
        reason_duplicate: "同一人重复报名", "the same person has another entry";
        reason_automated: "程序报名", "a program entered";
        reason_ineligible: "不符合参与条件", "the conditions of the sale are not met";
        reason_account_closed: "账号已停用", "the account is closed";
        reason_other: "其他原因", "another reason";
        mode: "销售方式", "How it is sold";
        mode_rush: "抢购：先到先得", "Rush: first come, first served";
        mode_draw: "抽签：先报名，后抽签", "Draw: enter first, drawn later";
        mode_help: "抽签须设开始和结束时间，且每人限购 1 件；开始后不能更改。",
            "A draw needs both times and a limit of one per person. It can’t be changed after the start.";
        window: "中签后多久内付款", "Time for winners to pay";
    }
}

impl DrawText {
    /// Why an entry takes no part.
    pub fn reason(&self, reason: &Exclusion) -> &'static str {
        match reason {
            Exclusion::Duplicate => self.reason_duplicate,
            Exclusion::Automated => self.reason_automated,
            Exclusion::Ineligible => self.reason_ineligible,
            Exclusion::AccountClosed => self.reason_account_closed,
            Exclusion::Other => self.reason_other,
        }
    }
}

texts! {
    /// Where a draw stands, for pages and their script: a text for each stage, and what its countdown counts to.
    DrawStageText {
        announced: "报名尚未开放", "Entries are not open yet";
        entries: "报名进行中", "Entries are open";
        paused: "报名已暂停", "Entries are paused";
        review: "报名已截止，名单核对中", "Entries are closed and being reviewed";
        locked: "名单已锁定，等待公开随机数", "The list is locked. The public round is still to come";
        due: "正在抽签", "The draw is being held";
        drawn: "已抽签，中签者付款中", "Drawn. Winners are paying";
        settled: "抽签已结束", "The draw is over";
        called_off: "抽签已取消", "The draw was called off";
        until_announced: "距开放报名", "Entries open in";
        until_entries: "距报名截止", "Entries close in";
        until_review: "距名单锁定", "The list is locked in";
        until_locked: "距公开随机数", "The round appears in";
        at_announced: "报名开放：", "Entries open:";
        at_entries: "报名截止：", "Entries close:";
        at_review: "名单锁定：", "The list is locked:";
        at_locked: "公开随机数：", "Public round:";
        numbers: "{} 个报名，{} 件商品", "Entries: {}, units: {}";
        changed: "状态已更新：{}", "Now: {}";
    }
}

impl DrawStageText {
    pub fn stage(&self, stage: &DrawStage) -> &'static str {
        match stage {
            DrawStage::Announced => self.announced,
            DrawStage::Entries => self.entries,
            DrawStage::Paused => self.paused,
            DrawStage::Review => self.review,
            DrawStage::Locked => self.locked,
            DrawStage::Due => self.due,
            DrawStage::Drawn => self.drawn,
            DrawStage::Settled => self.settled,
            DrawStage::CalledOff => self.called_off,
        }
    }

    /// What happens at the end of a stage, where the clock ends it.
    pub fn at(&self, stage: &DrawStage) -> &'static str {
        match stage {
            DrawStage::Announced => self.at_announced,
            DrawStage::Entries => self.at_entries,
            DrawStage::Review => self.at_review,
            DrawStage::Locked => self.at_locked,
            _ => "",
        }
    }
}

texts! {
    /// The page that says how a draw is made and proves it.
    DrawProofText {
        title: "抽签：规则与证明", "The draw: rules and proof";
        lead: "这里有重算抽签结果所需的一切。规则在报名前公布，名单在公开随机数出现前锁定，所以谁都无法挑选结果。",
            "Everything it takes to compute the result again. The rules were public before entries opened, and the list is locked before the public round appears, so the result cannot be chosen.";
        sandbox: "沙盒随机数：本场用于演示，其随机数可以事先算出，只能相信商店没有挑选结果。",
            "Sandbox randomness: this draw is a demonstration. Its rounds can be computed beforehand, so the shop must be trusted not to have chosen the result.";
        no_round: "本场没有公开随机数：只能相信商店没有挑选密钥或报名。",
            "This draw has no public randomness: the shop must be trusted not to have chosen its secret or the entries.";
        late: "名单在公开随机数出现之后才锁定，因此不能排除按随机数挑选报名的可能。",
            "The list was locked after its public round had appeared, so it cannot be ruled out that entries were chosen by it.";
        rules_title: "规则", "The rules";
        rule_units: "共 {} 件，每位中签者一件。", "{} to win, one per winner.";
        rule_one: "每个账号一个报名、一张签。何时报名、报名几次都不影响机会。",
            "Each account has one entry with one ticket. When and how often it enters makes no difference.";
        rule_lock: "报名截止后核对名单；被排除的报名按原因公开计数。随后锁定名单，公布其默克尔根。",
            "After the closing the entries are reviewed; exclusions are counted here by reason. Then the list is locked and its Merkle root published.";
        rule_seed: "种子由规则、名单、公开随机数和商店密钥算出；商店在报名前已公布密钥的承诺。",
            "The seed follows from rules, list, public round and the shop’s secret, to which the shop committed before entries opened.";
        rule_rank: "每个报名的签号是种子与报名编号的 SHA-256，由小到大排序，依次获得商品。",
            "An entry’s key is the SHA-256 of seed and entry. The smallest key is first, and units are offered in that order.";
        rule_pay: "轮到的人有 {} 付款，逾期顺延给下一位。", "Whose turn it is has {} to pay; then the unit goes to the next in line.";
        seconds: "{} 秒", "{} seconds";
        minutes: "{} 分钟", "{} minutes";
        hours: "{} 小时", "{} hours";
        rule_late: "公开随机数逾期一小时仍未出现时，可改用宣布之后满十分钟的第一轮，或取消抽签；两者都会说明原因。",
            "If the public round is an hour late, the first round that appears more than ten minutes after an announcement may decide instead, or the draw is called off. Either comes with its reason.";
        round_changed: "第 {} 轮公开随机数没有按时出现，按规则改用第 {} 轮。宣布时间与原因：",
            "Round {} did not appear in time, so by the rule round {} decides. When this was announced, and why:";
        look_up: "查看第 {} 轮", "Look up round {}";
        facts_title: "已公布的数据", "What is published";
        lock_at: "名单锁定", "List is locked";
        locked_at: "名单已锁定于", "List was locked";
        round: "公开随机数", "Public round";
        round_of: "{} 第 {} 轮", "{}, round {}";
        due_at: "公布时间", "Appears";
        entries: "参与的报名", "Entries that take part";
        after_lock: "锁定后公布", "published at the lock";
        after_draw: "抽签后公布", "published after the draw";
        excluded: "被排除的报名", "Excluded entries";
        commitment: "密钥的承诺", "Commitment to the secret";
        root: "名单的默克尔根", "Merkle root of the list";
        signature: "该轮签名", "Signature of the round";
        secret: "商店密钥", "The shop’s secret";
        seed: "种子", "Seed";
        called_off_for: "公开随机数一直没有出现，抽签已取消，没有人中签。原因：", "The public round never came, so the draw was called off. Nobody wins. The reason:";
        drawn_at: "抽签时间", "Drawn";
        rules_text: "规则原文（其哈希进入种子）", "The rules, as they are hashed into the seed";
        downloads: "下载", "Downloads";
        download_list: "报名名单（CSV）", "List of entries (CSV)";
        download_proof: "证明（JSON）", "Proof (JSON)";
        download_facts: "全部数据（JSON）", "All facts (JSON)";
        offline_title: "离线验证", "Verify it offline";
        offline: "下载两个文件后，用任意一个程序验证，都不需要网络：", "Download both files, then verify them with either program. Neither needs a network:";
        compare: "请把承诺与报名前、默克尔根与随机数公布前你自己保存的副本比较：这一点没有程序能替你做。",
            "Compare the commitment with your own copy from before entries opened, and the root with one from before the round: no program can do that for you.";
        check_title: "在浏览器中验证", "Check it in this browser";
        check_lead: "本页会下载名单和证明，在你的设备上重算默克尔根、种子和名次。",
            "This page fetches list and proof, and computes root, seed and ranks again on your device.";
        check_limit: "浏览器不验证该轮随机数的签名；离线程序会验证。",
            "The signature of the public round is not checked here. The offline programs verify it.";
        check_entry: "报名编号（可不填）", "Entry (may be empty)";
        check_start: "开始验证", "Check now";
    }
}

texts! {
    /// Messages of the check in the browser.
    DrawCheckText {
        loading: "正在下载名单和证明…", "Fetching list and proof…";
        hashing: "正在计算：{}%", "Computing: {}%";
        failed: "名单或证明下载失败，请稍后再试。", "List or proof could not be fetched. Please try again later.";
        insecure: "浏览器只在 https 页面上提供所需的计算，请改用离线验证。",
            "The browser computes hashes on https pages only. Please verify offline.";
        malformed: "名单不是规定的格式：第 {} 行。", "The list is not in the published form: line {}.";
        holds: "全部相符：名次由公布的数据得出。", "All of it holds: the order follows from what was published.";
        broken: "有不相符之处：这份结果没有得到证明。", "Something does not hold: this result is not proved.";
        fields_ok: "证明只有规定的内容。", "The proof has what it should, and nothing else.";
        fields_wrong: "证明有本页不认识的内容。", "The proof has content that this page does not know.";
        changes_ok: "每次改轮都由规则得出：{}。", "Each change of the round follows from the rule: {}.";
        changes_wrong: "改轮不符合规则。", "A change of the round does not follow from the rule.";
        list_ok: "名单就是证明所指的那一份。", "The list is the one that the proof names.";
        list_wrong: "名单与证明所指的不是同一份。", "The list is not the one that the proof names.";
        count_ok: "报名数与名单一致：{}。", "The number of entries is that of the list: {}.";
        count_wrong: "报名数与名单不一致。", "The number of entries is not that of the list.";
        root_ok: "重算的默克尔根与公布的一致。", "The recomputed Merkle root is the published one.";
        root_wrong: "重算的默克尔根与公布的不一致。", "The recomputed Merkle root is not the published one.";
        rules_ok: "规则与本页公布的一致。", "The rules are those that this page publishes.";
        rules_wrong: "规则与本页公布的不一致。", "The rules are not those that this page publishes.";
        secret_ok: "密钥与报名前的承诺相符。", "The secret is the one that the rules commit to.";
        secret_wrong: "密钥与承诺不符。", "The secret is not the one that the rules commit to.";
        round_ok: "随机数来自应等待的那一轮（签名未在此验证）。",
            "The round is the awaited one (its signature is not checked here).";
        round_wrong: "随机数不是应等待的那一轮。", "The round is not the awaited one.";
        round_sandbox: "沙盒随机数正确，但可以事先算出：只能相信商店。",
            "The sandbox round is right, but could be computed beforehand: the shop must be trusted.";
        round_none: "规则没有公开随机数：只能相信商店。", "The rules have no public round: the shop must be trusted.";
        seed_ok: "种子由以上数据算出。", "The seed follows from all of these.";
        seed_wrong: "种子不能由以上数据算出。", "The seed does not follow from these.";
        rank: "你的报名排第 {} 名，", "Your entry is number {} ";
        rank_of: "共 {} 个报名。", "of {} entries.";
        excluded: "你的报名被排除，没有参与抽签。", "Your entry was excluded and took no part.";
        missing: "名单里没有这个报名编号。", "This entry is not in the list.";
        bad_entry: "报名编号应为 32 位十六进制数字。", "An entry has 32 hexadecimal digits.";
    }
}

texts! {
    /// The console's page of a draw.
    DrawConsoleText {
        link: "抽签进度与报名", "Draw and entries";
        public_page: "公开证明页", "Public proof";
        list: "名单（CSV）", "List (CSV)";
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
        call_off_text: "公开随机数已逾期一小时。取消后没有人中签，保证金全部退回，报名者会收到通知；不能撤销。若该轮其实已经公布，任何人都能查到。",
            "The public round is an hour overdue. If you call the draw off, nobody wins, all deposits go back and every entrant is told. This can’t be undone. If the round has appeared after all, anyone can see that.";
        call_off_reason: "原因（所有人可见）", "Reason (everyone can read it)";
        call_off_done: "抽签已取消，正在通知报名者。", "The draw was called off. Its entrants are being told.";
        later_round: "改用之后的一轮", "Await a later round";
        later_round_text: "公开随机数已逾期一小时。改用从现在起十分钟后的第一轮，由规则定出，谁也不能挑选。报名仍然有效，报名者会收到通知；不能撤销。若原来那一轮其实已经公布，任何人都能查到。",
            "The public round is an hour overdue. The first round that appears more than ten minutes from now decides instead: the rule names it, nobody chooses. Entries stand, and every entrant is told. This can’t be undone. If the round has appeared after all, anyone can see that.";
        later_round_done: "已改用之后的一轮，正在通知报名者。", "The draw awaits the later round. Its entrants are being told.";
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
        round_text: "本场等待 quicknet 第 {} 轮。到时打开下面的地址，把内容整段粘贴过来；粘贴后立即验证签名。",
            "The draw awaits round {} of quicknet. Open this address once it is due and paste all of what it says. Its signature is verified at once.";
        round_due: "公布时间", "Due";
        round_field: "粘贴的内容", "What it says";
        round_send: "验证并抽签", "Verify and draw";
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
        state_in: "有效", "in";
        state_withdrawn: "已撤回", "withdrawn";
        state_excluded: "已排除", "excluded";
        state_skipped: "已跳过", "passed over";
        deleted: "已注销", "deleted";
        find: "从此编号开始", "From this entry on";
        first: "回到开头", "Back to the start";
        empty: "还没有报名。", "No entries yet.";
        exclude: "排除", "Exclude";
        exclude_text: "报名者会看到原因，公开名单会列出并计数。名单锁定后不能更改。",
            "The entrant reads the reason, and the public list names and counts it. It stands once the list is locked.";
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
