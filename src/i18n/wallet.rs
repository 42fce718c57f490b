texts! {
    /// The wallet: what it holds, how money comes in, and paying from it.
    WalletText {
        title: "钱包", "Wallet";
        lead: "用来付款、发红包，抢到的红包也在这里。",
            "Pay orders from it and give red packets. What you catch from red packets lands here.";
        balance: "余额", "Balance";
        top_up: "充值", "Top up";
        top_up_amount: "充值金额（元）", "Amount in yuan";
        top_up_help: "1 到 50,000 元。接下来在支付页面付款。", "From ¥1 to ¥50,000. You pay on the next page.";
        top_up_go: "去充值", "Top up";
        entries: "收支明细", "What came and went";
        empty: "还没有收支。", "Nothing has come or gone yet.";
        empty_text: "充值，或者去抢一个红包。", "Top up, or catch a red packet.";
        empty_page: "这里没有更早的记录。", "There is nothing older here.";
        older: "更早的记录", "Older lines";
        newest: "回到最新", "Back to the newest";
        kind_topup: "充值", "Top-up";
        kind_pay: "支付订单", "Paid an order";
        kind_refund: "订单退款", "Refund of an order";
        kind_fund: "发红包", "Gave a red packet";
        kind_claim: "抢到红包", "Caught a share of a red packet";
        kind_return: "红包退回", "Rest of a red packet came back";
        kind_giveup: "放弃余额", "Given up";
        see_order: "查看订单", "See the order";
        see_packet: "查看红包", "See the packet";
        pay: "用钱包支付 · {}", "Pay from your wallet · {}";
        pay_holds: "钱包余额 {}。", "Your wallet holds {}.";
        pay_short: "钱包余额 {}，不足以支付此订单。", "Your wallet holds {}, which is not enough for this order.";
        paid_so: "已用钱包支付，退款会回到钱包。", "Paid from your wallet. A refund goes back there.";
        give_up: "我放弃钱包余额 {}，它将归商店所有。", "I give up the {} in my wallet. It becomes the shop's.";
        give_up_text: "钱包里还有 {}。删除前可以先花掉它。", "Your wallet still holds {}. You may want to spend it first.";
    }
}
