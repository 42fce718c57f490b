texts! {
    /// The wallet: balance, activity, top-ups, payments.
    WalletText {
        title: "钱包", "Wallet";
        lead: "用于付款和发红包，收到的红包也会存入这里。", "Pay for orders and send red packets. Red packets you receive are added here.";
        balance: "余额", "Balance";
        top_up: "充值", "Top up";
        top_up_amount: "充值金额（元）", "Amount (CNY)";
        top_up_help: "单笔 1 到 50,000 元，下一步前往支付。", "From ¥1 to ¥50,000. You’ll pay on the next page.";
        top_up_go: "去充值", "Top up";
        entries: "收支明细", "Activity";
        empty: "暂无收支记录。", "No activity yet.";
        empty_text: "充值，或者去抢一个红包吧。", "Top up or claim a red packet.";
        empty_page: "没有更早的记录。", "No older activity.";
        older: "更早的记录", "Older activity";
        newest: "回到最新", "Back to newest";
        kind_topup: "充值", "Top-up";
        kind_pay: "支付订单", "Order payment";
        kind_refund: "订单退款", "Order refund";
        kind_fund: "发红包", "Red packet sent";
        kind_claim: "抢到红包", "Red packet received";
        kind_return: "红包退回", "Red packet returned";
        kind_giveup: "放弃余额", "Balance given up";
        kind_deposit: "保证金暂存", "Deposit set aside";
        kind_deposit_return: "保证金退回", "Deposit returned";
        deposits: "暂存中", "Set aside";
        deposits_text: "参与活动的保证金，会全额退回余额。", "Deposits of sales you take part in. They come back in full.";
        deposit_since: "始于", "Since";
        for_sale: "充值后返回活动。", "After paying you return to the sale.";
        see_sale: "查看活动", "View sale";
        see_order: "查看订单", "View order";
        see_packet: "查看红包", "View red packet";
        pay: "用钱包支付 · {}", "Pay with wallet · {}";
        pay_holds: "钱包余额 {}。", "Wallet balance: {}.";
        pay_deposit: "其中 {} 为将退回的保证金。", "That includes the deposit of {}, which comes back.";
        pay_short: "钱包余额 {}，不足以支付此订单。", "Your wallet balance of {} doesn’t cover this order.";
        prove_why: "为什么要再验证一次", "Why we ask again";
        prove_yours: "钱只由你本人动用", "Only you spend your money";
        prove_yours_text: "即使有人用了你没有关闭的浏览器。", "Even if someone else uses a browser that you left open.";
        prove_nothing: "还没有扣款", "Nothing has been paid yet";
        prove_nothing_text: "取消不会改变任何内容。", "Cancelling changes nothing.";
        prove_once: "12 小时内不再询问", "Not again for 12 hours";
        prove_once_text: "在这台设备上验证一次即可。", "Once on this device is enough.";
        filled_in: "你填写的内容", "What you filled in";
        prove_lead: "距上次验证身份已超过 12 小时，使用钱包前请再次输入密码。刚才填写的内容会保留。",
            "It’s been more than 12 hours since you logged in. Enter your password to use your wallet. What you’ve filled in is kept.";
        no_provider: "本店目前没有开通在线支付，只能用钱包余额付款。",
            "The shop takes no online payments at the moment. Orders can be paid from the wallet.";
        no_top_up: "本店目前没有开通在线支付，无法充值。", "The shop takes no online payments at the moment, so you can’t top up.";
        give_up: "我放弃钱包、保证金和未领完红包中的 {}，归商店所有。", "I give up the {} in my wallet, deposits and open red packets. It goes to the shop.";
        give_up_text: "钱包、保证金和未领完的红包里还有 {}，删除前可以先花掉。", "You still have {} in your wallet, deposits and open red packets. You may want to spend it first.";
    }
}
