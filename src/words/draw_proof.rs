texts! {
    /// The page that says how a draw is made and proves it.
    DrawProofText {
        title: "抽签：规则与证明", "The draw: rules and proof";
        lead: "这里有重算抽签结果所需的一切。规则在报名前公布，名单在公开随机数出现前锁定，所以谁都无法挑选结果。",
            "Everything it takes to compute the result again. The rules were public before entries opened, and the list is locked before the public round appears, so the result cannot be chosen.";
        to_sale: "返回商品页", "Back to the sale";
        my_entry: "我的报名", "My entry";
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
        rule_pay: "轮到的人有 {} 付款，逾期顺延给下一位。", "Whose turn it is has {} to pay; then the unit goes to the next in order.";
        seconds: "{} 秒", "{} seconds";
        minutes: "{} 分钟", "{} minutes";
        hours: "{} 小时", "{} hours";
        facts_title: "已公布的数据", "What is published";
        opens: "报名开放", "Entries open";
        closes: "报名截止", "Entries close";
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
        round_ok: "随机数来自规则指定的那一轮（签名未在此验证）。",
            "The round is the one that the rules name (its signature is not checked here).";
        round_wrong: "随机数不是规则指定的那一轮。", "The round is not the one that the rules name.";
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
