texts! {
    /// Filters of the order list, orders that the shop ended, delivery addresses.
    OrdersText {
        filter: "按状态筛选", "Filter by status";
        filter_all: "全部", "All";
        filter_unpaid: "待付款", "To pay";
        filter_paid: "已付款", "Paid";
        filter_ended: "已取消", "Cancelled";
        filter_refunds: "退款", "Refunds";
        copy: "复制", "Copy";
        whole_number: "完整订单号", "Full order number";
        copy_number: "复制订单号 {}", "Copy order number {}";
        none_so: "没有符合条件的订单。", "No matching orders.";
        none_so_text: "换个筛选条件，或查看全部订单。", "Try another filter or view all your orders.";
        see_all: "查看全部订单", "View all orders";
        newest: "回到最新", "Back to newest";
        means_cancelled_by_shop: "商家取消了订单，未产生扣款。", "The shop cancelled your order. You weren’t charged.";
        means_refunding_by_shop: "商家取消了订单，款项正在原路退回，通常几分钟内到账。",
            "The shop cancelled your order. Your refund is on its way, usually within minutes.";
        means_refunded_by_shop: "商家取消了订单，款项已原路退回。", "The shop cancelled your order. Your payment has been refunded.";
        message: "商家留言", "Message from the shop";
        given_back: "部分退款", "Money back";
        given_to_wallet: "退入钱包", "to your wallet";
        given_to_payer: "原路退回", "to your original payment method";
        given_soon: "处理中", "on its way";
        payment_declined: "支付未成功，没有扣款。订单仍为你保留，请在倒计时结束前重新支付。", "The payment was declined, and nothing was charged. The order is still yours: pay again before the time is up.";
        next_title: "接下来", "What happens next";
        next_address: "填写收货地址，商店才能发货", "Add a delivery address, so that the shop can send it";
        next_send: "商店按你的收货地址备货、发货", "The shop packs it and sends it to your address";
        next_returns: "配送和退换说明", "Delivery and returns";
        next_contact: "有问题？联系商店，并报上订单号", "Questions? Contact the shop and name the order number";
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
        address_save: "保存", "Save";
        address_delete: "删除", "Delete";
        address_delete_question: "删除这个地址？", "Delete this address?";
        address_delete_text: "已有订单不受影响。", "Existing orders aren’t affected.";
        address_delete_no: "保留", "Keep";
        address_full: "最多保存 20 个地址，请先删除一个。", "You can save up to 20 addresses. Please delete one first.";
        address_changed: "这个地址刚刚在别处被修改，现在是下面的内容。你填写的还在表单里，再次保存会覆盖它。",
            "This address was just changed elsewhere. It now reads as below. What you entered is still in the form; saving again replaces it.";
        address_errors: "请检查：", "Please check:";
        done_saved: "地址已保存。", "Address saved.";
        done_deleted: "地址已删除。", "Address deleted.";
        done_default: "默认地址已更改。", "Default address updated.";
        recipient: "收货人", "Full name";
        phone: "联系电话", "Phone";
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
