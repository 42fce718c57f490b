texts! {
    /// Filters of the order list, orders that the shop ended, delivery addresses.
    OrdersText {
        filter: "按状态筛选", "Filter by status";
        filter_unpaid: "待付款", "To pay";
        filter_refunds: "退款", "Refunds";
        copy: "复制", "Copy";
        copy_number: "复制订单号 {}", "Copy order number {}";
        none_so_text: "换个筛选条件，或查看全部订单。", "Try another filter or view all your orders.";
        see_all: "查看全部订单", "View all orders";
        means_cancelled_by_shop: "商家取消了订单，未产生扣款。", "The shop cancelled your order. You weren’t charged.";
        means_refunding_by_shop: "商家取消了订单，款项正在原路退回，到账时间取决于付款方式。",
            "The shop cancelled your order. Your refund is on its way; how long it takes depends on how you paid.";
        means_refunded_by_shop: "商家取消了订单，款项已原路退回。", "The shop cancelled your order. Your payment has been refunded.";
        message: "商家留言", "Message from the shop";
        given_back: "部分退款", "Money back";
        given_to_wallet: "退入钱包", "to your wallet";
        given_to_payer: "原路退回", "to your original payment method";
        given_soon: "处理中", "on its way";
        payment_declined: "支付未成功，没有扣款。订单仍为你保留，请在倒计时结束前重新支付。", "The payment was declined, and nothing was charged. The order is still yours: pay again before the time is up.";
        next_title: "接下来", "What happens next";
        next_address: "填写收货地址，商家才能发货", "Add a delivery address so the shop can send it";
        next_send: "商家按你的收货地址备货、发货", "The shop packs it and sends it to your address";
        next_returns: "配送和退换说明", "Delivery and returns";
        next_contact: "有问题？联系商家，并报上订单号", "Questions? Contact the shop and quote your order number";
        payment_failed: "支付未成功", "Payment declined";
        refund_how: "退款将退回原付款账户，无需任何操作。", "Refunds go to your original payment method. No action needed.";
        deliver_to: "收货地址", "Delivery address";
        deliver_none: "还没有收货地址，付款前请填写。", "No delivery address yet. You’ll need one before you pay.";
        deliver_missing: "还没有收货地址，填写后才能发货。", "No delivery address yet. Please add one so that we can ship your order.";
        deliver_default: "将使用你的默认地址。", "Your default address will be used.";
        deliver_choose: "填写收货地址", "Add delivery address";
        deliver_change: "更改地址", "Change address";
        deliver_not_yet: "订单生成中，稍后即可填写收货地址。", "Your order is being created. You can add an address in a moment.";
        deliver_needed: "付款前请先填写收货地址，库存已为你保留。", "Please add a delivery address before you pay. Your items are still reserved.";
        deliver_which: "选择收货地址", "Delivery address";
        deliver_saved: "已保存的地址", "Saved addresses";
        deliver_new: "使用新地址", "Use a new address";
        deliver_keep: "保存到地址簿", "Save to my addresses";
        deliver_save: "保存地址", "Save address";
        deliver_pay: "保存并付款", "Save and pay";
        deliver_back: "返回订单", "Back to order";
        addresses: "收货地址", "Delivery addresses";
        addresses_lead: "付款时可直接选用，修改或删除不影响已有订单。",
            "Choose one when you pay. Editing or deleting an address doesn’t change existing orders.";
        addresses_empty: "还没有收货地址。", "No addresses yet.";
        addresses_empty_text: "添加一个，付款更快。", "Add one for faster checkout.";
        address_add: "添加地址", "Add address";
        address_new: "添加地址", "New address";
        address_edit: "修改地址", "Edit address";
        address_default: "默认", "Default";
        address_make_default: "设为默认", "Set as default";
        address_as_default: "设为默认地址", "Set as my default address";
        address_delete_question: "删除这个地址？", "Delete this address?";
        address_delete_text: "已有订单不受影响。", "Existing orders aren’t affected.";
        address_delete_no: "保留", "Keep";
        address_full: "最多保存 20 个地址，请先删除一个。", "You can save up to 20 addresses. Please delete one first.";
        address_changed: "这个地址刚刚在别处被修改，现在是下面的内容。你填写的还在表单里，再次保存会覆盖它。",
            "This address was just changed elsewhere. It now reads as below. What you entered is still in the form; saving again replaces it.";
        done_saved: "地址已保存。", "Address saved.";
        done_deleted: "地址已删除。", "Address deleted.";
        done_default: "默认地址已更改。", "Default address updated.";
        paste: "粘贴整段地址，自动填写", "Fill in everything at once";
        paste_example: "王小明 13800138000 浙江省杭州市西湖区文三路 478 号", "Ada Lovelace, +1 212 555 0123, 12 Mercer Street, New York, NY 10013";
        recipient: "收货人", "Full name";
        phone: "手机", "Phone";
        phone_help: "仅用于配送联系，海外号码请加国家代码。", "Only used for delivery. Include the country code if you live abroad.";
        country: "国家或地区", "Country or region";
        country_choose: "请选择", "Please select";
        region: "省份 / 州", "State or province";
        city: "城市", "City";
        line1: "详细地址", "Street address";
        line1_help: "区县、街道、门牌号", "District, street, house number";
        district: "区县", "District";
        street_help: "街道、门牌号", "Street, house number";
        line2: "楼栋、单元、室（选填）", "Apartment, floor (optional)";
        postal_code: "邮政编码", "Postal code";
        postal_help: "中国大陆地址选填。", "Optional in many places.";
    }
}

texts! {
    /// Parcels of paid orders, in the console and for the owners of orders.
    ParcelsText {
        title: "包裹", "Parcel";
        to_pack: "待打包", "To pack";
        to_ship: "待发货", "To ship";
        packed: "已打包", "Packed";
        shipped: "已发货", "On its way";
        delivered: "已送达", "Delivered";
        lost: "已丢失", "Lost";
        returned: "已退回", "Returned";
        means_packed: "商品已打包，等待发出。", "Your order is packed and about to be sent.";
        means_shipped: "包裹已发出，正在送往你的收货地址。", "Your parcel is on its way to your address.";
        means_delivered: "包裹已送达。", "Your parcel was delivered.";
        counts: "若到 {} 仍没有其他消息，将视为已送达。", "If nothing else is known by {}, it counts as delivered.";
        counts_returns: "退货期限从那时算起。", "The time for returns begins then.";
        means_lost: "包裹在运输途中丢失，商家会与你联系处理。", "Your parcel got lost on its way. The shop will sort it out with you.";
        means_returned: "包裹已退回商家。", "Your parcel is back at the shop.";
        carrier: "承运商", "Carrier";
        number: "运单号", "Tracking number";
        track: "查看物流", "Track parcel";
        confirm: "确认收货", "I have it";
        confirm_question: "收到包裹了吗？", "Do you have your parcel?";
        confirm_text: "确认后，订单显示为已送达。", "Your order is then shown as delivered.";
        by_carrier: "选择或填写承运商，可留空", "Pick or type a carrier. May stay empty";
        pack: "标记已打包", "Mark as packed";
        ship: "发货", "Mark as sent";
        deliver: "标记已送达", "Mark as delivered";
        lose: "标记丢失", "Mark as lost";
        take_back: "标记退回", "Mark as returned";
        move_text: "包裹状态会更新，买家会收到邮件和通知。", "The parcel’s state changes, and the customer is told by email and notification.";
        ship_text: "买家会收到邮件和通知，附承运商、运单号和物流链接。", "The customer is told by email and notification, with the carrier, the number and a link.";
        correct: "更正运单", "Correct carrier or number";
        corrected: "更正", "Corrected";
        correct_text: "操作日志会记录更改前后的内容；已发货的订单，买家会再次收到通知。", "The audit log keeps the old and the new one. If the parcel was sent, the customer is told again.";
        ended: "订单已退款：请不要发货，把商品从包裹中取出。", "The order is refunded. Don’t send the parcel: take the goods out again.";
        held: "订单审核中，放行后才能打包和发货。", "The order is held. Release it before packing or sending it.";
        no_address: "买家还没有填写收货地址，填写后才能打包和发货。", "The buyer has not given an address yet. Pack and send it once there is one.";
        away: "商品不在店里，不能整单退款（库存会退回场次）；请用部分退款，或等包裹退回。", "The goods are away, so the order can’t be refunded as a whole, which would put its units back on sale. Refund a part, or wait until the parcel is back.";
        unsent: "尚未打包。", "Not packed yet.";
        done: "包裹已更新。", "Parcel updated.";
        any: "全部", "Any";
        file: "导入运单", "Import tracking numbers";
        file_lead: "上传 CSV 文件，三列依次为订单号、承运商、运单号；每行的订单标记为已发货。先检查，确认后才会处理；只要有一行不能处理，就全部不处理。",
            "A CSV file with the columns order ID, carrier, tracking number. Each line marks an order as sent. It is checked first, and nothing happens until you confirm. If one line can’t be done, none is.";
        file_max: "最多 {} 行。完整的订单号见“导出 CSV”。", "At most {} lines. “Export CSV” has the full order IDs.";
        file_choose: "CSV 文件", "CSV file";
        file_check: "检查", "Check the file";
        file_apply: "确认发货：{} 笔", "Mark as sent: {}";
        file_ready: "可以发货：{} 笔；已是如此：{} 笔。", "Ready to be marked as sent: {}. Already so: {}.";
        file_refused: "有 {} 行不能处理，因此未处理任何一行。请改正后重新上传。", "Lines that can’t be done: {}. So none was. Correct the file and upload it again.";
        file_done: "已发货：{} 笔；之前已是如此：{} 笔。", "Marked as sent: {}. Already so before: {}.";
        file_none: "没有可处理的内容：所有订单都已是如此。", "There is nothing to do: all orders are so already.";
        line_new: "将标记为已发货", "will be marked as sent";
        line_same: "已是如此", "already so";
        line_done: "已发货", "marked as sent";
    }
}

texts! {
    /// Returns of delivered orders, in the console and for the owners of orders.
    ReturnsText {
        title: "退货", "Return";
        asked: "已申请退货", "Return asked for";
        accepted: "等待寄回", "To be sent back";
        refused: "退货未通过", "Return refused";
        withdrawn: "退货已撤回", "Return withdrawn";
        received: "已收到退货", "Return received";
        changed_mind: "不想要了", "I changed my mind";
        damaged: "商品破损或故障", "It is damaged or doesn’t work";
        wrong_goods: "发错商品", "It is not what I ordered";
        not_as_described: "与描述不符", "It is not as described";
        other: "其他原因", "Something else";
        ask: "申请退货", "Ask for a return";
        ask_text: "商家会先审核，通过后告诉你寄到哪里。收到商品后退款。", "The shop looks at your request first and tells you where to send it. You get the refund once it is back.";
        until: "退货申请截止时间：", "You can return this order until";
        was_until: "退货申请已截止：", "This order could be returned until";
        reason: "退货原因", "Reason";
        choose: "请选择", "Please select";
        note: "说明", "Details";
        note_help: "最多 500 字；选择“其他原因”时必填", "Up to 500 characters. Needed for “Something else”";
        means_asked: "商家会尽快处理，通过前你可以撤回。", "The shop will answer soon. You can withdraw it until then.";
        means_accepted: "请把商品寄回，并填写运单号。商家收到后退款。", "Please send it back and enter the tracking number. The refund begins once the shop has it.";
        means_received: "商家已收到你退回的商品。", "The shop has what you sent back.";
        refund_pending: "退款处理中：{}", "Refund on its way: {}";
        refund_made: "已退款：{}", "Refunded: {}";
        where_to: "寄回地址和说明", "Where to send it";
        why_not: "商家的答复", "The shop’s answer";
        withdraw: "撤回申请", "Withdraw";
        withdraw_until: "撤回后，{} 前可以再次申请。", "You can ask again until {}.";
        withdraw_late: "退货期限已过，撤回后不能再申请。", "The time for returns is over, so you can’t ask again.";
        send: "填写退货运单", "I sent it back";
        send_text: "填写承运商和运单号，商家就知道商品在路上。", "With the carrier and the number the shop knows that it is on its way.";
        change_label: "更改运单", "Change carrier or number";
        to_answer: "待处理退货", "Returns to answer";
        accept: "同意退货", "Accept return";
        accept_text: "买家会看到以下内容，并收到邮件和通知。", "The customer reads this on the order page, and gets it by email and notification.";
        accept_words: "寄回地址和说明", "Where and how to send it back";
        refuse: "拒绝退货", "Refuse return";
        refuse_text: "买家会看到原因，且不能再次申请。", "The customer reads why, and can’t ask again.";
        refuse_words: "原因", "Reason";
        receive: "收到退货并退款", "Received: refund it";
        receive_text: "确认商品已回到店里。款项原路退回，买家会收到通知。", "The goods are back at the shop. The money goes back the way it was paid, and the customer is told.";
        amount: "退款金额，最多 {}", "Refund, up to {}";
        restock: "库存退回场次", "Put the units back on sale";
        restock_yes: "退回场次，订单结束", "Back on sale; the order ends";
        restock_no: "不退回，订单保持已付款", "Not back on sale; the order stays paid";
        restock_help: "场次已结束时，库存只计入未售出。", "After the sale has ended, they only count as unsold.";
        restocked: "库存已退回场次", "units back on sale";
        not_restocked: "库存未退回", "units not back on sale";
        waits: "退款待另一位员工批准。", "The refund waits for a second person.";
        done: "退货已更新。", "Return updated.";
        done_received: "已收到退货，退款已发起。", "Return received. The refund has started.";
        by_customer: "用户", "the customer";
    }
}

texts! {
    /// Receipts and invoices of paid orders, in the console and for the owners of orders.
    InvoicesText {
        receipt: "收据", "Receipt";
        to_receipt: "查看收据", "See the receipt";
        item: "商品", "Item";
        price: "单价", "Price";
        total: "合计", "Total";
        payments: "付款方式", "Paid by";
        rest: "实付", "Paid in total";
        no_invoice: "本收据不是发票。", "This receipt is not a tax invoice (fapiao).";
        heading: "发票", "Invoice (fapiao)";
        title: "发票抬头", "Made out to";
        title_help: "公司或个人名称", "The name of a company or a person";
        tax_number: "税号", "Tax number";
        tax_number_help: "统一社会信用代码（18 位）；个人留空", "Unified social credit code, 18 characters. Leave it empty for a person";
        ask: "申请开票", "Ask for an invoice";
        change: "更改抬头", "Change it";
        ask_text: "商家通过税务系统开票，开具前可以更改。", "The shop issues it through the tax office’s service. You can change it until then.";
        asked: "已申请，等待开具。", "Asked for. It will be issued.";
        issued: "已开具", "Issued";
        list: "发票", "Invoices";
        lead: "买家申请的发票。在税务系统开具后，在这里标记。个人姓名只在导出文件中完整显示。",
            "Invoices that shoppers asked for. Have them issued by the tax office’s service, then mark them here. Names of persons are in full in the export only.";
        open: "待开具", "To issue";
        done: "已标记 {} 张。", "Marked as issued: {}.";
        none: "没有发票。", "No invoices.";
        none_text: "买家在已付款订单的页面申请发票。", "Customers ask for them on the page of a paid order.";
        asked_at: "申请时间", "Asked for";
        mark: "标记为已开具", "Mark as issued";
        mark_text: "勾选的发票将标记为已开具，买家不能再更改抬头。此操作不可撤销。",
            "The ticked invoices count as issued, and their buyers can’t change them any more. This can’t be undone.";
    }
}

texts! {
    /// The console's pages about orders.
    SupportText {
        title: "订单", "Orders";
        clear: "清除条件", "Clear";
        sale: "场次", "Sale";
        sale_any: "全部场次", "All sales";
        status_any: "全部状态", "All statuses";
        from: "下单时间 从", "Placed from";
        to: "下单时间 到", "Placed before";
        time_utc: "按 UTC 时间填写", "In UTC";
        time_local: "按你的时区填写", "In your time zone";
        export: "导出 CSV", "Export CSV";
        empty_text: "刚下的订单入库后才能查到。", "New orders show up here once they are saved.";
        col_at: "下单时间", "Placed";
        col_user: "用户", "Customer";
        col_sale: "场次", "Sale";
        col_pieces: "数量", "Quantity";
        col_amount: "金额", "Amount";
        col_status: "状态", "Status";
        gone: "账号已删除", "account deleted";
        heading: "订单详情", "Order";
        product: "商品", "Product";
        pay_by: "付款期限", "Pay by";
        reason_by_shop: "商家取消或退款", "Cancelled or refunded by the shop";
        reason_by_owner: "用户取消", "Cancelled by the customer";
        reason_unpaid: "超时未付款", "Not paid in time";
        reason_sold_out: "库存不足", "Out of stock";
        reason_repeated: "本场已有订单", "Duplicate order in this sale";
        message: "给用户的留言", "Message to the customer";
        timeline: "时间线", "Timeline";
        by: "操作人", "by";
        by_owner: "用户", "the customer";
        by_clock: "系统（超时）", "the system (timeout)";
        by_provider: "支付平台", "the payment provider";
        by_shop: "系统", "the system";
        address_none: "用户还没有填写收货地址。", "No delivery address yet.";
        reveal: "查看完整收货信息", "Show full recipient";
        reveal_text: "姓名、电话和详细地址将显示一次；谁在何时因何查看会记入操作日志。",
            "Shows the name, phone number and street once. The audit log keeps who looked, when and why.";
        reveal_why: "查看原因", "Why you need it";
        revealed: "完整信息仅本次显示，已记入操作日志。", "Shown in full this once, and noted in the audit log.";
        masked: "你的角色只能看到部分信息。", "Your role sees a part of it only.";
        payments: "付款", "Payments";
        payments_none: "还没有付款记录。", "No payment attempts yet.";
        provider: "平台", "Provider";
        started: "发起时间", "Created";
        captured: "到账时间", "Captured";
        refunded: "退款时间", "Refunded";
        webhooks: "通知", "Webhooks";
        payment_created: "未付", "Unpaid";
        payment_captured: "已到账", "Captured";
        payment_closed: "已关闭", "Closed";
        payment_mismatched: "金额不符", "Wrong amount";
        cancel: "取消订单", "Cancel order";
        cancel_text: "订单将取消，库存立即退回场次。", "Cancels the order. Its units go back on sale right away.";
        refund: "退款", "Refund order";
        refund_text: "全额退款并结束订单，库存立即退回场次。此操作不可撤销。",
            "Refunds the full amount and closes the order. Its units go back on sale right away. This can’t be undone.";
        refund_part: "部分退款", "Refund part of it";
        refund_part_text: "退回部分或全部货款，订单保持已付款，库存不退回。", "Gives money back. The order stays paid and its units stay sold.";
        refund_part_amount: "金额，最多 {}", "Amount, up to {}";
        refund_part_to: "退至", "Goes to";
        refund_part_payer: "原付款方式", "the original payment method";
        refund_part_wallet: "用户的钱包", "the customer’s wallet";
        refund_rest_text: "此前已部分退款，现在可退余下的 {}。", "A part was refunded before. What is left is {}.";
        done_refund_part: "已发起部分退款。", "Partial refund started.";
        part_done: "已退款", "made";
        why: "内部原因（用户不可见）", "Internal reason (staff only)";
        tell: "给用户的留言（选填）", "Message to the customer (optional)";
        tell_held: "给用户的留言（订单审核中，必填）", "Message to the customer (required while the order is held)";
        tell_help: "原样显示在用户的订单页，请使用用户的语言。", "Shown as is on the customer’s order page, so use their language.";
        disputed: "付款有争议，可能已被收回；我知道，仍要退款",
            "The payment is or was disputed, so the money may be back already. I know, and refund it all the same";
        elsewhere: "外部订单号", "Order in the other shop";
        paid_elsewhere: "货款由外部商店收取。", "The other shop took the money.";
        end_elsewhere: "结束订单", "End order";
        end_elsewhere_text: "本店不退款，货款由外部商店处理。数量退回场次。", "Nothing is refunded here: the other shop has the money. The units go back on sale.";
        no_actions: "当前状态没有可执行的操作。", "No actions available in this state.";
        own_order: "这是你自己的订单，须由另一位员工处理。", "This order is yours. Another staff member has to handle it.";
        done_cancel: "订单已取消，库存已退回。", "Order cancelled. Its units are back on sale.";
        done_refund: "已发起退款，库存已退回。", "Refund started. The units are back on sale.";
        changed: "订单状态刚刚发生变化，操作未执行，请查看最新状态。",
            "The order changed in the meantime, so nothing was done. Here is its current state.";
    }
}

texts! {
    /// Linked accounts in a sale, holds of orders, and appeals: in the console and for the owners of orders.
    HoldsText {
        link: "关联账号", "Linked accounts";
        title: "关联账号", "Linked accounts";
        lead: "这些账号的订单看起来出自同一批人。家人、室友和代收点也可能如此：由你判断，系统不会自动处理。",
            "Orders whose accounts seem to belong together. So may a family, a shared flat or a parcel shop: you decide, nothing happens by itself.";
        empty: "没有关联账号。", "No linked accounts.";
        empty_text: "订单填写收货地址后才会比较。", "Orders are compared once they have a delivery address.";
        back: "返回场次", "Back to the sale";
        all: "全部关联账号", "All linked accounts";
        first: "回到第一页", "First page";
        accounts: "{} 个账号", "{} accounts";
        why: "关联原因", "Why they are linked";
        by_address: "收货地址相同：{} 个账号", "Same delivery address: {} accounts";
        by_contact: "邮箱相同：{} 个账号", "Same mailbox: {} accounts";
        by_instrument: "付款工具相同：{} 个账号", "Same payment instrument: {} accounts";
        by_registration: "几分钟内从同一网络注册，且收货街道相同：{} 个账号",
            "Registered from one network within minutes and delivered to one street: {} accounts";
        live_orders: "有效订单", "Live orders";
        paid: "已付金额", "Paid";
        held_orders: "审核中", "Held";
        appeals: "待答复申诉", "Appeals to answer";
        place: "收货地", "Delivered to";
        held: "审核中", "Held for review";
        hold: "暂缓发货", "Hold";
        hold_text: "订单不会发货，直到放行、退款或取消。买家会收到原因，并可以申诉。",
            "Nothing is shipped until the orders are released, refunded or cancelled. Buyers are told why and can appeal.";
        release: "放行", "Release";
        release_text: "订单照常发货，申诉一并答复。", "The orders ship as usual. This answers any appeal.";
        refund: "退款", "Refund";
        refund_text: "已付款的订单全额退款，未付款的取消，库存退回场次。此操作不可撤销。",
            "Paid orders are refunded in full and unpaid ones cancelled. Their units go back on sale. This can’t be undone.";
        uphold: "维持审核", "Uphold the hold";
        uphold_text: "答复申诉，订单继续暂缓发货。", "Answers the appeal. The order stays held.";
        summary_orders: "{} 笔订单", "{} orders";
        summary_units: "{} 件", "{} units";
        first_only: "前 {} 个账号的合计", "Sums of the first {} accounts";
        members_page: "每页 {} 个账号的订单；操作只针对本页。", "Orders of {} accounts on a page. Actions apply to this page.";
        compared: "账号比对时间", "Accounts compared at";
        reason: "原因（买家可见）", "Reason (the buyer reads it)";
        reason_help: "原样显示在买家的订单页和邮件中，请使用买家的语言。", "Shown as is on the order page and in the email, so use the buyer’s language.";
        none_apply: "没有可以处理的订单。", "No orders to act on.";
        done_hold: "已暂缓发货：{} 笔。", "Held: {}.";
        done_release: "已放行：{} 笔。", "Released: {}.";
        done_refund: "已退款或取消：{} 笔。", "Refunded or cancelled: {}.";
        done_one_hold: "订单已暂缓发货，买家已收到原因。", "Order held. The buyer was told why.";
        done_one_release: "订单已放行。", "Order released.";
        done_uphold: "已答复申诉，订单继续审核。", "Appeal answered. The order stays held.";
        count_unchanged: "之前已是如此：{} 笔。", "Already so before: {}.";
        count_ended: "订单已结束，未处理：{} 笔。", "Ended meanwhile, left alone: {}.";
        count_own: "你自己的订单，须由另一位员工处理：{} 笔。", "Your own, left to another staff member: {}.";
        count_waits: "等待另一位员工批准：{} 笔。", "Waiting for a second person: {}.";
        heading: "审核", "Hold";
        event_held: "暂缓发货", "Held";
        event_appeal: "买家申诉", "Appeal";
        event_upheld: "答复：维持审核", "Answer: the hold stays";
        event_released: "已放行", "Released";
        event_refunded: "退款", "Refunded";
        event_cancelled: "取消", "Cancelled";
        waiting: "申诉待答复", "Appeal to answer";
        search_held: "审核", "Held";
        search_any: "全部", "All orders";
        search_yes: "审核中", "Held only";
        search_no: "未在审核", "Not held";
        means_paid: "已付款。订单正在由我们的员工审核，审核结束前不会发货。", "Paid. Our staff are looking at this order, and it won’t ship until they’re done.";
        means_unpaid: "订单正在由我们的员工审核。你仍可付款或取消；逾期未付款会自动取消，付款后须审核结束才会发货。",
            "Our staff are looking at this order. You can still pay or cancel. If it isn’t paid in time it is cancelled, and once paid it ships after the review.";
        next_steps: "审核结束后，订单会放行发货，或全额退款。结果会显示在这里，并发送到你验证过的邮箱。",
            "Afterwards the order ships or is refunded in full. You’ll see the result here and get it by email if your address is confirmed.";
        appeal: "申诉", "Appeal";
        appeal_text: "有误会吗？请写给我们的员工，每次申诉都会得到答复。", "Is this a mistake? Write to our staff. They answer every appeal.";
        appeal_label: "你的说明", "Your message";
        appeal_help: "最多 1000 字。", "Up to 1,000 characters.";
        appeal_send: "提交申诉", "Send appeal";
        appeal_sent: "申诉已提交，员工会在这里答复。", "Your appeal was sent. Our staff will answer here.";
    }
}

texts! {
    /// What shipping costs, for shoppers and on the console's page of it.
    ShippingText {
        shipping: "运费", "Shipping";
        goods: "商品", "Items";
        cost: "运费 {}", "Shipping {}";
        from: "运费 {} 起", "Shipping from {}";
        free: "免运费", "Free shipping";
        free_of_charge: "免费", "Free";
        free_from: "商品满 {} 免运费", "free for items of {} or more";
        elsewhere: "其他地区", "Everywhere else";
        within: "付款后 {} 天内发货", "Sent within {} days of your payment";
        within_one: "付款后 1 天内发货", "Sent within a day of your payment";
        by: "预计 {} 前发货", "Ships by {}";
        late: "本应在 {} 前发货，还没有发出", "This should have shipped by {}, and has not yet";
        by_address: "按收货地址计算", "depends on the address";
        on_top: "{} + 运费", "{} + shipping";
        includes: "含运费 {}", "with {} for shipping";
        lead: "订单按收货地址计算运费，付款前告知买家，计入应付金额。地区优先于国家，国家优先于“其他地区”。修改只影响之后填写的收货地址。",
            "Shipping is charged by the address of an order: buyers are told before they pay, and it is part of what they pay. A region goes before its country, and a country before everywhere else. Changes apply to addresses that are entered from now on.";
        none: "还没有运费，所有订单免运费。", "No rates yet. All orders ship free of charge.";
        rate: "运费 {}", "Rate {}";
        country: "国家或地区", "Country or region";
        regions: "省份（可不填）", "Provinces or states (optional)";
        price: "运费", "Shipping costs";
        free_above: "满多少免运费（可不填）", "Free from (optional)";
        currency: "币种", "Currency";
        help: "省份用逗号分隔，并写出买家会用的各种写法（中文、拼音）。每种币种须有一行“其他地区”。清空一行即可删除；保存后会出现新的空行。",
            "Separate provinces by commas, and give each spelling that buyers use, Chinese and Latin. Each currency needs a row for everywhere else. Clear a row to remove it. Saving adds more blank rows.";
        saved: "已保存。", "Saved.";
        wrong: "请检查标出的内容，尚未保存。", "Please check what is marked. Nothing was saved yet.";
        changed: "运费刚被其他人修改。以下是你填写的内容，再次保存将覆盖对方的修改。", "Someone else changed the rates just now. This is what you entered; saving again replaces their change.";
    }
}
